"""The pair verifier: the probability that two texts take the same answer, from the texts alone.

verifier          the whole decision: start here; `PairVerifier`
features          what differs between two texts, as numbers for boosted trees (`weights/pairs.npz`)
repeated          the same request, typed differently
reordered         two things in the other order, which may say nothing
reframed          one question in two frames, or in words that say the same
heads             two questions behind one head: 'Context: ... Question: ...'
late_interaction  token-by-token measures of two texts, for pairs that the words leave in doubt (`weights/close.npz`)
close_reader      makes these measures off the event loop
contexts          are two conversations at the same point? (`weights/turns.npz`, `weights/talks.npz`)
"""
