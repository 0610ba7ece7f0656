"""Greetings and thanks around a request, and by what a text says that it speaks of words, in some twenty languages; and
how a request begins in a few of them."""

from __future__ import annotations

import re
from typing import Final

from .lexicon import phrases
from .signature import ASKING

OPENINGS: Final = phrases(
    "hi, hello, hey, heya, hiya, greetings, hi there, hello there, hey there, hi all, hello all, hi everyone,"
    "hello everyone, hi team, hello team, hey team, hi again, hello again, hi support, hello support,"
    "good morning, good afternoon, good evening, good day, dear support, dear team, dear support team, dear sir,"
    "dear madam, dear sir or madam, dear sirs, dear all, excuse me, sorry to bother you, quick question,"
    "a quick question, just a quick question, i have a question, i have a quick question, i am new here,"
    "i'm new here, im new here, thanks in advance, ok, okay, so, well, um, uh, hmm, hallo, guten tag,"
    "guten morgen, guten abend, moin, servus, grüß gott, bitte, hola, buenos días, buenas tardes, buenas noches,"
    "buenas, bonjour, bonsoir, salut, ciao, salve, buongiorno, buonasera, olá, oi, bom dia, boa tarde, boa noite,"
    "goedemorgen, goedemiddag, goedenavond, goedendag, cześć, hej, dzień dobry, dobry wieczór, witam, hejsan,"
    "god morgon, god kväll, god morgen, god aften, goddag, god dag, hei, moi, terve, hyvää päivää,"
    "hyvää huomenta, ahoj, dobrý den, dobré ráno, dobrý večer, szia, sziasztok, jó napot, jó reggelt, bună,"
    "bună ziua, bună dimineața, bună seara, merhaba, selam, iyi günler, günaydın, iyi akşamlar, selamat pagi,"
    "selamat siang, selamat sore, selamat malam, xin chào, chào bạn, привет, здравствуйте, добрый день,"
    "доброе утро, добрый вечер, привіт, вітаю, добрий день, доброго дня, γεια, γεια σας, καλημέρα, καλησπέρα,"
    "مرحبا, أهلا, السلام عليكم, صباح الخير, مساء الخير, שלום, היי, בוקר טוב, ערב טוב, 안녕하세요, 안녕"
)
_ALIKE: Final = (
    "ich möchte, ich möchte gern, ich möchte gerne, ich würde gern, ich würde gerne, ich will",
    "wie viel kostet, wieviel kostet, was kostet, wie teuer ist",
    "wie viel kosten, wieviel kosten, was kosten, wie teuer sind",
    "wo ist, wo befindet sich",
    "wo sind, wo befinden sich",
    "können sie, könnt ihr, kannst du, könnten sie, könntest du",
    "haben sie, habt ihr",
    "wie kann ich, wie kann man, wie könnte ich",
    "wo kann ich, wo kann man, wo könnte ich",
    "warum, wieso, weshalb, aus welchem grund",
    "je voudrais, je veux, je souhaite, je souhaiterais, j'aimerais",
    "comment, comment puis-je, comment faire pour, comment je peux, comment est-ce que je peux, comment peut-on,"
    "comment est-ce qu'on peut, comment on peut, comment pourrais-je, que dois-je faire pour, que faire pour",
    "où, où puis-je, où est-ce que je peux, où je peux, où peut-on, où est-ce que",
    "où est, où se trouve, où est-ce que se trouve",
    "quel est, quelle est, c'est quoi",
    "combien coûte, quel est le prix de, c'est combien",
    "combien coûte le, quel est le prix du, c'est combien le",
    "quand, quand est-ce que",
    "pourquoi, pourquoi est-ce que",
    "puis-je, je peux, est-ce que je peux, peut-on, on peut, est-ce qu'on peut, est-il possible de,"
    "est-ce possible de, c'est possible de, serait-il possible de",
    "pouvez-vous, est-ce que vous pouvez, vous pouvez, peux-tu, pourriez-vous",
    "avez-vous, est-ce que vous avez, vous avez",
    "quiero, quisiera, me gustaría, deseo",
    "cómo, cómo puedo, cómo hago para, cómo se puede, cómo podría, qué tengo que hacer para, qué debo hacer para,"
    "qué hay que hacer para",
    "dónde, dónde puedo, dónde se puede",
    "puedo, se puede, es posible, sería posible",
    "dónde está, dónde se encuentra, dónde queda",
    "cuánto cuesta, cuánto vale, cuál es el precio de, qué precio tiene",
    "cuánto cuesta el, cuánto vale el, cuál es el precio del, qué precio tiene el",
    "cuánto cuestan, cuánto valen",
    "vorrei, voglio, desidero, mi piacerebbe",
    "come, come posso, come si può, come faccio a, come faccio per, come si fa a, come fare per, come fare a,"
    "cosa devo fare per",
    "dove, dove posso, dove si può",
    "dove è, dov'è, dove si trova",
    "quanto costa, qual è il prezzo di, quanto viene",
    "quanto costa il, qual è il prezzo del, qual è il costo del",
    "quanto costa la, qual è il prezzo della, qual è il costo della",
    "posso, si può, è possibile, sarebbe possibile",
    "quero, gostaria de, queria, eu quero, eu gostaria de, eu queria",
    "como, como posso, como eu posso, como faço para, como eu faço para, como fazer para, como faço pra,"
    "o que devo fazer para, o que preciso fazer para, o que tenho que fazer para",
    "onde está, onde fica, onde se encontra, cadê",
    "quanto custa, qual é o preço de, qual o preço de",
    "quanto custa o, qual é o preço do, qual o preço do, qual o valor do",
    "quanto custa a, qual é o preço da, qual o preço da, qual o valor da",
    "onde, onde posso, onde eu posso, onde é possível",
    "posso, eu posso, é possível, seria possível, dá para, dá pra",
    "ik wil graag, ik wil, ik zou graag",
    "jag vill, jag skulle vilja, jag vill gärna",
    "chcę, chciałbym, chciałabym",
    "jak, jak mogę, jak można, jak mohu, jak můžu, jak lze, co muszę zrobić żeby",
    "gdzie, gdzie mogę, gdzie można",
    "gdzie jest, gdzie znajduje się",
    "czy mogę, czy można, czy da się, czy jest możliwość",
    "chci, chtěl bych, chtěla bych",
    "bagaimana cara, bagaimana caranya, gimana cara, gimana caranya",
    "làm thế nào để, làm sao để, làm cách nào để",
    "я хочу, хочу, хотел бы, хотела бы, я хотел бы, я хотела бы, хотелось бы, мне хотелось бы",
    "как, как можно, как мне, как я могу, что нужно сделать чтобы",
    "где, где можно, где я могу, где находится, где находятся",
    "можно ли, можно, могу ли я, возможно ли",
    "як, як можна, як мені, як я можу",
    "чи можна, можна, чи можу я, чи можливо",
)
_ACCENTS: Final = str.maketrans("áéíóúàèùãçäöüěů", "aeiouaeuacaoueu")
BEGINNINGS: Final = {
    tuple(said.split()): tuple(common.translate(_ACCENTS).split())
    for common, *others in (re.split(", ?", line) for line in _ALIKE)
    for phrase in (common, *others)
    for said in {phrase, phrase.translate(_ACCENTS)}
}
"""How a request may begin, by how it does otherwise: 'ich will' is 'ich möchte', 'como faço para pagar' is 'como
pagar'. Without accents, which one side may lack."""
BEGUN: Final = frozenset(said[0] for said in BEGINNINGS)
CLOSINGS: Final = phrases(
    "thanks, thank you, thx, ty, cheers, thanks a lot, thank you so much, thank you very much, thanks so much,"
    "many thanks, thanks in advance, thank you in advance, many thanks in advance, please help, please help me,"
    "help please, please advise, kind regards, best regards, warm regards, best wishes, any help appreciated,"
    "any help is appreciated, any help would be appreciated, have a nice day, have a good day, have a great day,"
    "danke, danke schön, vielen dank, danke im voraus, bitte, mit freundlichen grüßen, viele grüße, gracias,"
    "muchas gracias, gracias de antemano, por favor, saludos, un saludo, merci, merci beaucoup, merci d'avance,"
    "s'il vous plaît, s'il te plaît, cordialement, grazie, grazie mille, grazie in anticipo, per favore,"
    "obrigado, obrigada, muito obrigado, muito obrigada, bedankt, alvast bedankt, dank je, dank je wel, dank u,"
    "dank u wel, aub, alstublieft, alsjeblieft, dziękuję, dzięki, dziękuję bardzo, z góry dziękuję, proszę,"
    "pozdrawiam, tack, tack så mycket, tack på förhand, med vänliga hälsningar, tak, mange tak, på forhånd tak,"
    "takk, tusen takk, på forhånd takk, kiitos, kiitos paljon, kiitos etukäteen, děkuji, díky, předem děkuji,"
    "prosím, köszönöm, köszi, előre is köszönöm, mulțumesc, mulțumesc anticipat, mersi, vă rog, teşekkürler,"
    "teşekkür ederim, çok teşekkürler, lütfen, terima kasih, makasih, cảm ơn, xin cảm ơn, cám ơn, спасибо,"
    "большое спасибо, спасибо большое, заранее спасибо, спасибо заранее, пожалуйста, с уважением, дякую,"
    "щиро дякую, будь ласка, ευχαριστώ, ευχαριστώ πολύ, παρακαλώ, شكرا, شكرا جزيلا, من فضلك, لو سمحت, תודה,"
    "תודה רבה, בבקשה, 감사합니다, 고맙습니다, 부탁드립니다",
    -1,
)
OF_WORDS: Final = frozenset(
    """say says saying said translate translates translated translating translation mean means meaning meant word words
    phrase phrases spell spelled spelling pronounce pronounced write writes writing written wrote reply replies
    respond quote greet greets greeting greetings sentence sentences summarize rewrite rephrase paraphrase grammar
    sentiment classify tone sagt sagen heißt heissen bedeutet bedeutung wort wörter übersetze übersetzen übersetzung
    dice decir digo diga significa traduce traducir traducción palabra palabras dit dire signifie traduis traduire
    traduction tradurre traduci traduzione dizer traduzir traduz traduza tradução betekent betekenis zeggen zeg
    vertaal vertalen woord znaczy oznacza powiedzieć mówi przetłumacz przetłumaczyć tłumaczenie słowo słowa betyder
    betyr säga säger översätt översätta ordet sige siger oversæt oversett tarkoittaa sanoa sanotaan käännä znamená
    říct řekne přelož slovo jelent mondják mondani fordítsd înseamnă spune traduce cuvânt demek denir söylenir
    anlamı çevir çeviri kelime artinya terjemahkan nghĩa dịch значит означает сказать скажи перевод переведи
    перевести переводится слово слова означає сказати переклади перекласти σημαίνει μετάφρασε μετάφραση λέξη λένε
    معنى تعني ترجم ترجمة אומרים פירוש תרגם תרגום מילה 뜻 번역 번역해 단어""".split()
)
"""Of a text with one of these, greetings and thanks may be what is asked: "How do you say thank you?"."""
ASKS: Final = ASKING.union(
    """cómo como qué que cuándo cuando dónde donde cuál cual quién quien cuánto cuanto puedo puede podría wie wann wo
    warum wer welche welcher welches wieviel kann können könnte darf comment quand où pourquoi quel quelle combien qui
    puis-je puis peut ou come quando dove perché perche quale quanto chi posso può onde qual quem hoe wat wanneer waar
    waarom welke hoeveel jak kiedy gdzie dlaczego ile który która czy hur vad när varför vilken hvordan hvornår hvor
    hvorfor hvilken miten milloin missä miksi kuka kde kdy proč kolik hogyan mikor miért mennyi când unde cât
    nasıl nerede neden kaç hangi bagaimana kapan dimana mengapa berapa как когда где почему сколько какой какая кто
    что можно як коли де чому скільки який хто πώς πότε πού γιατί πόσο ποιος كيف متى أين لماذا
    كم من هل איך מתי איפה למה כמה מי 어떻게 언제 어디 어디서 왜 누가 얼마""".split()
)
"""A text with one of these in the right place asks, with a question mark or without."""
