"""Word lists that the generators of rewordings and traps draw from. Data only.

A list is cut into parts ('fit', 'tune', 'report') by word or group, so that what is measured was never drawn before.
"""

from __future__ import annotations

from .sources import part_of

SAME = """help|assist|support; begin|start; purchase|buy; receive|get; mobile|cell phone; phone|telephone;
    quickly|fast; large|big; repair|fix; verify|check|confirm; obtain|get; modify|change|edit|alter;
    cancel|call off; close|shut down; remove|delete|get rid of; choose|pick|select; refund|money back;
    return|send back; error|mistake; issue|problem; car|automobile; movie|film; doctor|physician;
    attorney|lawyer; kids|children; job|position; salary|pay; trip|journey; vacation|holiday;
    luggage|baggage; flat|apartment; shop|store; cost|price; cheap|inexpensive; costly|expensive;
    rapidly|quickly; allow|permit; require|need; reply|answer; inform|tell|let know; explain|describe;
    display|show; stop|quit; finish|complete; happen|occur; near|close to; beside|next to; around|about;
    approximately|about|roughly; perhaps|maybe; currently|right now|at the moment; instantly|immediately|at once;
    soon|shortly; frequently|often; annually|yearly|every year; monthly|every month; daily|every day;
    weekly|every week; total|overall; wrong|incorrect; broken|not working|out of order; missing|lost;
    stolen|taken; misplaced|lost; forgot|cannot remember; password|passcode; username|user name;
    email|e-mail; email|mail; picture|photo|image; bill|invoice; fee|charge; charge|billed amount; bank card|card;
    cash machine|atm; transfer|send; top up|add money to; balance|amount available; deposit|pay in;
    withdraw|take out; open|set up; set up|create; sign up|register; log in|sign in; log out|sign out;
    update|upgrade to the latest version; install|set up; delivery|shipment; shipped|sent; arrive|get here;
    parcel|package;
    order|purchase; discount|reduction; sale|offer; contact|get in touch with|reach; speak to|talk to;
    agent|representative; supervisor|manager; schedule|plan; appointment|booking; book|reserve; reservation|booking;
    meeting|appointment; postpone|push back|delay; reschedule|move; remind me|set a reminder; alarm|wake-up call;
    song|track; music|tunes; play|put on; turn up|increase; turn down|decrease; turn on|switch on; turn off|switch off;
    weather|forecast; rain|shower; cold|chilly; hot|warm; restaurant|place to eat; meal|dish;
    recipe|instructions for cooking; cook|make; ingredients|what goes into it; healthy|good for you;
    tired|exhausted; sick|ill; medicine|medication; pain|ache; hurt|injured; exercise|work out; weight|body weight;
    lose weight|slim down; smart|clever|intelligent; happy|glad; sad|unhappy; angry|mad; difficult|hard|tough;
    easy|simple; important|significant; famous|well-known; rich|wealthy; strange|odd|weird; main|primary;
    final|last; entire|whole; correct|right; different|distinct; common|frequent; nearest|closest;
    needed|required|necessary; available|on offer; possible|feasible; free|at no cost; best|top;
    built|constructed; made|produced; invented|created; wrote|was the author of; founded|established|started;
    born|came into the world; died|passed away; located|situated; called|named; author|writer; country|nation;
    company|firm;
    people|persons; residents|inhabitants; population|number of people; size|dimensions; length|duration;
    height|how tall; speed|velocity; distance|how far; reason|cause; purpose|aim; result|outcome; benefit|advantage;
    risk|danger; effect|impact; symptom|sign; method|technique; tool|utility; file|document; folder|directory;
    function|method; bug|defect; run|execute; program|application; app|application; computer|pc; laptop|notebook;
    screen|display; website|site|web page; link|url; internet|web; connection|link; settings|preferences;
    account|profile;
    insurance|coverage; policy|plan; claim|request for payment; loan|credit; interest rate|rate of interest; tax|duty;
    savings|money put aside; retire|stop working; house|home; rent|lease; kitchen|cooking area; garden|yard;
    dog|pup; baby|infant; teacher|instructor; lesson|class; exam|test; course|class; university|college; student|pupil;
    study|learn; language|tongue; word|term; meaning|definition; translate|say; spell|write; airport|airfield;
    flight|plane; ticket|fare; passport|travel document; hotel|place to stay; taxi|cab; train station|railway station;
    route|way; traffic|congestion; gas station|petrol station; fuel|gas; employee|worker; boss|manager; quit|resign"""

CITIES = """Paris Berlin Madrid Rome Vienna Prague Lisbon Dublin Oslo Stockholm Helsinki Warsaw Budapest Athens Zurich
    Munich Hamburg Barcelona Milan Naples Lyon Porto Seville Boston Chicago Denver Seattle Austin Dallas Houston
    Phoenix Atlanta Miami Detroit Portland Toronto Montreal Vancouver Sydney Melbourne Perth Auckland Tokyo Osaka
    Kyoto Seoul Beijing Shanghai Bangkok Singapore Mumbai Delhi Cairo Nairobi Lagos Accra Lima Bogota Santiago"""
COUNTRIES = """France Germany Spain Italy Austria Portugal Ireland Norway Sweden Finland Poland Hungary Greece
    Switzerland Belgium Denmark Canada Mexico Brazil Argentina Chile Peru Colombia Japan China India Thailand Vietnam
    Australia Egypt Kenya Nigeria Ghana Morocco Turkey Israel Iceland Estonia Latvia Slovakia Slovenia Croatia"""
PEOPLE = """Anna Maria Sofia Laura Emma Julia Alice Clara Nina Peter Paul John James Robert Michael David Thomas Daniel
    Martin Lucas Oscar Henry George Einstein Newton Darwin Mozart Beethoven Shakespeare Napoleon Lincoln Washington
    Churchill Picasso Tesla Edison Galileo Cleopatra Aristotle Plato Socrates Obama Merkel Gandhi Mandela"""
THINGS = """Python Java Rust Ruby Perl Swift Kotlin Scala Postgres MySQL Redis Oracle Windows Linux Ubuntu Android
    iPhone Galaxy Pixel Excel Word Outlook Gmail Slack Zoom Spotify Netflix YouTube Amazon Google Apple Microsoft
    Samsung Sony Nokia Toyota Honda Ford Tesla BMW Audi Nike Adidas Docker Kubernetes Terraform Jenkins GitHub GitLab
    Visa Mastercard PayPal Revolut aspirin ibuprofen paracetamol insulin coffee tea beer wine chicken turkey beef
    pork salmon tuna rice pasta bread oats apples bananas oranges pears basil mint gold silver copper iron"""
TEAMS = """Arsenal Chelsea Liverpool Everton Barcelona Juventus Bayern Ajax Celtic Rangers Lakers Celtics Bulls
    Warriors Yankees Mets Dodgers Cubs Packers Bears Steelers Cowboys"""
MONEY = "dollars euros pounds yen francs rupees pesos crowns"
LANGUAGES = (
    "English French German Spanish Italian Dutch Polish Russian Arabic Hindi Korean Turkish Greek Latin"
)
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
MONTHS = "January February March April June July August September October November December"
TIMES = """today|tomorrow|yesterday; weekdays|weekends; morning|afternoon|evening|night; this week|next week|last week;
    this month|next month|last month; this year|next year|last year; spring|summer|autumn|winter;
    tonight|tomorrow night;
    weekday|weekend; daily|weekly|monthly|yearly; am|pm; before noon|after noon; now|later; first|second|third;
    past|coming; current|previous|next; morning|evening; hour|day|week|month|year; christmas|easter|thanksgiving"""
UNITS = """miles|kilometers; pounds|kilograms; inches|centimeters; feet|meters; celsius|fahrenheit; minutes|hours|days;
    dollars|euros|yen; cups|grams|tablespoons; gallons|liters; mb|gb|tb; percent|dollars; seconds|minutes; mg|ml"""
SCOPES = """all|some|none of the; every|one; only|also; both|one; any|all; most|few; always|sometimes|never;
    my|all; my|my wife's|my son's|our; personal|business; domestic|international; single|double|joint; adult|child;
    full|partial; permanent|temporary; free|paid; online|in person|by phone; public|private; new|used|existing;
    first|last; minimum|maximum|average; average|total; cheapest|fastest|best; largest|smallest; oldest|newest;
    local|global; manual|automatic; men|women|children; dogs|cats; inside|outside; left|right; top|bottom;
    before|after|during; with|without; over|under; more than|less than|exactly; at least|at most; front|rear;
    household|company; primary|secondary; debit|credit; checking|savings; incoming|outgoing; physical|virtual;
    breakfast|lunch|dinner; red|blue|green|black|white; small|medium|large; beginner|expert; individual|family"""
ADDED = """only; all; every; for my wife; for my daughter; for two people; for a company; for students; for children;
    for free; in Germany; in Texas; in winter; at night; on weekends; on Sundays; next year; last month;
    by phone; online;
    with a credit card; in cash; without an account; without a receipt; without a passport; except on Fridays;
    if i am under 18; if it was a gift; after 30 days; before the deadline; twice; again; permanently; temporarily;
    automatically; as a guest; from abroad; on a mac; on my phone; in french; per person; per year; including tax;
    excluding tax; using python; in a different currency; at home; outdoors; while pregnant; for beginners;
    and a refund;
    and my password; and a sister card; or cancel it; by myself; with two children; as a foreigner;
    for the first time"""
MODIFIERS = """new old second joint business personal international domestic virtual physical temporary permanent
    monthly annual weekly daily main secondary free paid used broken red black small large electric manual local
    foreign public private premium basic prepaid frozen expired gluten-free vegan spicy double single"""
NARROWING = """guide baby school staff tax winter rental student medical travel pet gift group company holiday
    family office kitchen garden mountain city night weekend car health dental training test demo sample backup
    emergency parking birthday wedding summer ski water solar diesel cotton leather wooden plastic paper sports
    music video voice email text weather police army church bank airport hospital university hotel factory farm"""
HARMLESS = """actually currently exactly really simply basically possibly kindly honestly probably generally normally"""
FILLERS = """hi; hello; hey; hey there; good morning; ok so; so; well; um; excuse me; quick question; just wondering;
    sorry; i was wondering"""
ENDINGS = (
    """please; thanks; thank you; thanks in advance; if possible; if you can; asap; thx; cheers; pls; ok"""
)
MADE_UP = (
    "zor",
    "vel",
    "kan",
    "tri",
    "mo",
    "lu",
    "bex",
    "ar",
    "den",
    "qui",
    "sal",
    "ny",
    "ro",
    "tek",
    "vo",
    "mar",
)


def groups(text: str, part: str | None = None) -> list[list[str]]:
    """'a|b; c|d' as lists, those of one part only."""
    found = [[w.strip() for w in g.split("|")] for g in " ".join(text.split()).split(";")]
    return [g for g in found if part is None or part_of("|".join(g)) == part]


def words(text: str, part: str | None = None) -> list[str]:
    """Words of a list, those of one part only; all of them where that leaves less than three."""
    found = text.split()
    mine = [w for w in found if part is None or part_of(w) == part]
    return mine if len(mine) > 2 else found
