"""One text, read. Rules are for English unless a file says otherwise; texts in other languages are recognized as such.

A `Reading` is what every comparison of two texts looks at. It is built in these steps:

reading         the text and what is made of it: start here; `Reading`
reading_cache   the last texts read
asked           the text without greetings and polite phrases around the question
  manners         where does it begin in earnest? are thanks at its end the writer's own, or what is asked about?
  direct          indirect questions as direct ones: 'where I can park' is 'where can I park'
  fluent          what is heard and not written: 'um', 'wanna'
  characters      characters of other keyboards; whether a text asks about how something is written
signature       numbers, dates, names, negation, the kind of question: what a vector blurs
  scanning        the pass over the text that fills it
  tokens          its words and marks, one by one
  marks           punctuation that carries meaning: code, formulas, patterns
  spoken          numbers spelled in several words: 'half past six' is 6:30
  lengths         lengths of time in one unit
  written         amounts in one form: '€5' is '5 euro'
  moments         times and dates in one form: '2:05 pm' is 14:05
  ordered         ordinal numbers in one form: '1st' is 'first'
parts           what the text tells, and what it asks
scenes          statements that only set the scene: 'I'm new here'

Is it the same request, typed differently?

repeats         `core`: the words that must be equal
courtesies      greetings and thanks of some twenty languages
given           orders about a text that is given elsewhere
slips           typing errors, with the other text at hand
spelling        typing errors, from one text alone
unaccented      other languages, typed without accents

Is it the same request in other words? (`Reading.plain`)

frames          'what do I have to do to' asks 'how do I'
  fronted         'if I move, can I keep it' is 'can I keep it if I move'
  commands        'list the risks' asks 'what are the risks', 'count the users' how many there are
making          'I need a poem' is 'write a poem'
variants        applies the phrasebook
phrasebook      reads phrasebook.txt: phrases and sentences that say the same
particles       'turn the lights on' is 'turn on the lights'

What is known of words:

lexicon         closed word classes of English
lexemes         all that is known of one word, in one lookup
opposites       words with opposite meanings
words           25,000 words with a vector each, and how two of them are related
"""
