"""The similar tier: serves the answer of an earlier request that means the same.

    text --embed/--> vector --index/--> candidates --evidence/--> an entry to serve, or a reason for the miss

`tiers.meaning` calls it. To follow one request, read in this order:

types           its data: a request (`Ask`), a findable answer (`Entry`), the state of the tier
lifetime        from when to when the tier serves; with its model, its index and its directory
lookup          finds the entry to serve; asks the following in turn
  retyped         the same words, typed differently: found by a hash, without a vector
  conversations   which entries belong to the same point of the same conversation
  inflight        requests whose answers are being made now
tier            adds, teaches and removes entries; with `lookup` it makes `SimilarTier`
answers         do two answers say the same?

Folders, each importing only from those above it:

weights/        the trained tables that ship with the package
text/           one text, read: words, numbers, names, what it asks
guards/         named reasons why two texts may need different answers
pairs/          the pair verifier: how likely two texts take one answer, from the texts alone
evidence/       the decider: what a function's own answers show, and its error budget
index/          nearest vectors
embed/          texts to vectors

Beside the path:

quarantine      entries that are withheld: hubs, answers that nobody else confirmed, floods of writes
complaints      how far one principal's reports of wrong answers reach
reported_pairs  pairs of requests that never share an answer, because one was reported wrong for the other
pair_log        the same on disk
freshness       questions whose answer changes by the hour
cross_encoder   an optional cross-encoder of the owner's
model_change    a change of the embedding model while the old one serves
cuda_graphs     what many calls launch on a GPU, replayed by one
"""
