"""Guards: named reasons why two texts with near vectors may take different answers.

A guard is a pure function of two texts that is true if it sees a conflict, and false if it cannot tell. Who asks them:
`pairs.verifier` (some forbid a hit, others are features), `pairs.contexts` for turns of conversations, and
`evidence.wording` (as features of a risk). docs/deciding.md lists their names, with examples.

plain           numbers, dates, identifiers, names, negation, opposites and others: `GUARDS`, one name each

One name, `relations`, stands for all of these:

relations       small words that relate things: 'from the bank' / 'to the bank'; asks the files below
  acts            orders with another verb
  agents          who acts: I / you or others
  amounts         how much, how long
  belongings      things that belong to others of them: two guests, one room / one guest, two rooms
  causes          causes / consequences
  comparisons     longer than a thing / as long as it / shorter
  conditions      condition and consequence exchanged
  contrasts       what is so and what is not exchanged
  counts          how many of what
  deeds           something ended / begun / changed, talked about with somebody
  demands         another form of the answer
  diets           what somebody must not eat is ruled out, or not
  doers, voices   subject and object exchanged, by word order; in passives and questions
  exchanges       one word exchanged, added or left out
  facets          what it is / an example of it / what may replace it
  figures         total / average, cities / major cities
  fragments       replies to what was asked before
  habits          how it is / how it used to be
  inquiries       whether / why / when / how
  journeys        flights and rides, of which one names something more or else
  kinds           other members of one kind: dogs / cats, car insurance / pet insurance
  letters         apologize / complain, argue for / against
  moods           a question / an order
  payers          I pay / I am paid
  permissions     allowed / required / advisable
  persons         two persons trade places
  phrases         a phrase exchanged for its opposite
  pointing        this story / a story
  predicates      to be / to have, to get / to give
  rates           how often
  replacements    what goes / what comes in its place
  reports         what happened / a question
  searches        searches and orders, of which one says more
  sides           another end or side: start / end, left of / below, 3 m wide / 3 m high
  statements      long statements with other words
  sums            15% of 80 / 80 plus 15%
  superlatives    the largest / the oldest
  switches        on / off, up / down, by / to a number, wherever they stand
  targets         what one asks for, the other mentions or counts
  tenses          when it happens
  thresholds      at least / more than / just as many, before / in 2004
  units           units without a number

Asked by the verifier alone, under names of their own:

slots           'slot': long texts that differ in one place
courses         'relations': source and destination exchanged, however worded
strangers       'strangers': a rare word in the place of another
measured        'relations': one amount of other things
modifiers       'relations': adult tickets / group tickets, rent or buy / rent or lease
mentions        'mention': what is shown as an example
called          'names': a thing / its name
orders          'orders': orders to whoever answers
stories         'story': what is told beside the question
"""
