"""The decider: which candidate to serve so that the share of wrong answers stays under the bound.

Without a history the pair verifier decides. With one, entries near the request vote for their answers; a logistic
regression turns the vote into a risk, weighed beside the pair verifier's where few have asked for the answer; what came
true corrects that risk; a ledger spends the error budget.

decide          `EvidenceDecider`: decide, by a vector or at a glance, and observe: start here
serving         whether what was judged is served, and what it costs
judging         which answer the candidates support, and its predicted risk
neighbours      the vote: kernels, ridge regression, records of answers
metric          which directions of the embedding separate the answers
wording         what words add to it: guards with a record, words that go with an answer
contrary        whether a request contradicts what all wordings of an answer say
risk            the two logistic regressions
calibration     corrects predicted risks by what came true
budget          the ledger, the alarm that stops a scope, the interval that certifies it
changes         whether answers changed, or questions of a new kind come
checks          which hits are verified in the background, and what follows from it
principals      whose evidence counts how far
register        the bounded table of functions and scopes
glance_rate     whether glances, by guessed vectors, decide often enough
function        what all scopes of one function share
scope           what is remembered of one scope
supposed        what it would know if requests in flight had their answers
prose           do two prose answers say the same?
nearness        a decider for vectors of the owner's, where there is no text
"""
