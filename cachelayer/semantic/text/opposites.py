"""Words with opposite meanings, and words that exclude one another where one might stand for the other.

Data only; words are lower-case.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, product
from typing import Final

_PAIRS: Final = """
    on/off gained/lost hidden/visible arrival/departure arrivals/departures inbound/outbound incoming/outgoing
    sent/received sender/recipient sender/receiver bought/sold buyer/seller lent/borrowed borrower/lender
    deposit/withdrawal deposits/withdrawals withdraw/top-up won/lost allowed/forbidden login/logout check-in/check-out
    checkin/checkout employer/employee landlord/tenant teacher/student parent/child doctor/patient buyer/vendor
    before/after earlier/later early/late prior/after since/until first/last former/latter old/new older/newer
    oldest/newest previous/next past/future yesterday/tomorrow today/tomorrow today/yesterday morning/evening
    morning/night day/night am/pm up/down above/below over/under inside/outside in/out into/out indoor/outdoor
    indoors/outdoors internal/external interior/exterior left/right north/south east/west northern/southern
    eastern/western front/back forward/backward forwards/backwards top/bottom upper/lower near/far nearer/farther
    nearer/further nearest/farthest nearest/furthest closer/farther closer/further closest/farthest closest/furthest
    high/low higher/lower highest/lowest more/less more/fewer most/least maximum/minimum max/min large/small
    larger/smaller largest/smallest big/small bigger/smaller biggest/smallest big/little long/short longer/shorter
    longest/shortest tall/short taller/shorter tallest/shortest wide/narrow deep/shallow thick/thin heavy/light
    fast/slow faster/slower fastest/slowest quick/slow hot/cold hotter/colder hottest/coldest warm/cool warmer/cooler
    wet/dry hard/soft hard/easy difficult/easy harder/easier strong/weak stronger/weaker strongest/weakest
    cheap/expensive cheaper/pricier cheapest/priciest expensive/inexpensive rich/poor good/bad better/worse best/worst
    positive/negative pro/con pros/cons advantage/disadvantage advantages/disadvantages benefit/drawback
    benefits/drawbacks benefits/risks strength/weakness strengths/weaknesses safe/dangerous safe/unsafe legal/illegal
    valid/invalid true/false right/wrong correct/incorrect possible/impossible same/different similar/different
    alive/dead live/dead male/female man/woman men/women boy/girl boys/girls father/mother son/daughter brother/sister
    husband/wife king/queen uncle/aunt nephew/niece grandfather/grandmother mr/mrs domestic/international
    local/foreign public/private free/paid personal/business manual/automatic online/offline full/empty full/partial
    full/part-time all/none always/never everything/nothing everyone/nobody both/neither single/multiple single/double
    single/married odd/even active/inactive active/passive input/output horizontal/vertical
    row/column rows/columns absolute/relative asynchronous/synchronous async/sync static/dynamic mutable/immutable
    global/local client/server master/slave supply/demand profit/loss profits/losses asset/liability
    assets/liabilities income/expense income/expenses revenue/cost winner/loser ally/enemy friend/enemy happy/sad
    sleep/wake asleep/awake present/absent sick/healthy fresh/stale raw/cooked clean/dirty smooth/rough sharp/blunt
    loud/quiet bright/dark sunrise/sunset summer/winter spring/autumn vegetarian/meat with/without come/go came/went
    attacker/defender question/answer cause/effect creditor/debtor plaintiff/defendant major/minor minority/majority
    optional/required mandatory/optional temporary/permanent permanently/temporarily frozen/unfrozen payer/payee
    trainer/trainee interviewer/interviewee mentor/mentee accuser/accused lessor/lessee licensor/licensee
    donor/recipient appointer/appointee grantor/grantee inflation/deflation fixed/variable constant/variable
    addition/subtraction ahead/behind amateur/professional ancient/modern artificial/natural backup/restore
    beginner/advanced beginner/expert novice/expert benign/malignant bitter/sweet busy/idle calm/stormy cash/credit
    ceiling/floor child/adult children/adults minor/adult minors/adults kids/adults clockwise/anticlockwise
    clockwise/counterclockwise common/rare common/uncommon complex/simple complicated/simple consumer/producer
    consumption/production contraction/expansion concave/convex creation/destruction crowded/empty dawn/dusk
    daytime/nighttime deceleration/acceleration deciduous/evergreen deficit/surplus division/multiplication
    dominant/recessive downstream/upstream drunk/sober dull/sharp eldest/youngest oldest/youngest older/younger
    elder/younger emigration/immigration emigrant/immigrant endothermic/exothermic entrance/exit entrances/exits
    entry/exit extrovert/introvert failure/success fake/genuine fake/real tight/loose feminine/masculine females/males
    fertile/barren final/initial finally/initially flexible/rigid frequent/rare frequently/rarely often/rarely
    often/seldom full-time/part-time generous/stingy gross/net guest/host guests/hosts guilty/innocent
    hardware/software harmful/harmless harmful/beneficial humid/dry humid/arid inferior/superior inner/outer
    intake/output intentional/accidental deliberate/accidental junior/senior landing/takeoff lenient/strict
    liquid/solid lowercase/uppercase mild/severe mild/spicy native/foreign numerator/denominator obverse/reverse
    offense/defense offence/defence offensive/defensive opponent/supporter opponents/supporters opaque/transparent
    optimist/pessimist optimistic/pessimistic outdated/current overpaid/underpaid overweight/underweight
    plural/singular plus/minus portrait/landscape postpaid/prepaid predator/prey predators/prey prefix/suffix
    prologue/epilogue prosecution/defense prosecutor/defendant proximal/distal punishment/reward rural/urban
    rapid/slow rapidly/slowly quickly/slowly saving/spending savings/debts scarce/abundant shallowest/deepest
    shutdown/startup sour/sweet southbound/northbound eastbound/westbound steep/gradual sunny/rainy surplus/shortage
    excess/shortage sweet/savory sweet/savoury synonym/antonym synonyms/antonyms tame/wild thrifty/wasteful tidy/messy
    vacant/occupied vague/precise verbal/written oral/written spoken/written victory/defeat victim/perpetrator
    visible/invisible vowel/consonant vowels/consonants wax/wane wealth/poverty wealthy/poor wholesale/retail
    wins/losses wisdom/folly improvement/deterioration adequate/inadequate brighter/darker brightest/darkest
    busier/quieter busiest/quietest louder/quieter loudest/quietest calmest/roughest cheaply/expensively
    cleaner/dirtier cleanest/dirtiest coldest/warmest colder/warmer coolest/warmest deeper/shallower densest/sparsest
    dense/sparse drier/wetter driest/wettest easiest/hardest happier/sadder happiest/saddest healthiest/unhealthiest
    healthier/unhealthier heavier/lighter heaviest/lightest least/greatest lightest/darkest lighter/darker
    narrower/wider narrowest/widest poorer/richer poorest/richest safer/riskier safest/riskiest softer/harder
    softest/hardest thicker/thinner thickest/thinnest tighter/looser brief/detailed short/detailed brief/comprehensive
    brief/lengthy former/current former/incoming current/incoming prior/following preceding/following before/following
    during/following during/after during/before during/until arrived/left gave/received primary/secondary
    attacker/victim uplink/downlink inhibitor/promoter agonist/antagonist hypoglycemia/hyperglycemia
    hypothyroidism/hyperthyroidism hypotension/hypertension hypothermia/hyperthermia systolic/diastolic vein/artery
    veins/arteries chronic/acute obese/underweight vegetarian/carnivore vegan/vegetarian first/final first/latest
    total/single overall/single altogether/single within/beyond before/once earliest/latest soonest/latest front/rear
"""
_VERBS: Final = """
    start/finish begin/finish start/end enable/disable activate/deactivate open/close start/stop begin/end lock/unlock
    increase/decrease raise/lower rise/fall grow/shrink gain/lose add/remove insert/delete create/delete
    install/uninstall subscribe/unsubscribe follow/unfollow block/unblock mute/unmute hide/show pin/unpin
    connect/disconnect attach/detach join/leave enter/exit enter/leave arrive/depart import/export upload/download
    push/pull send/receive buy/sell lend/borrow debit/credit deposit/withdraw pay/refund win/lose pass/fail
    accept/reject accept/decline approve/deny approve/reject allow/forbid allow/deny allow/prevent permit/prohibit
    include/exclude agree/disagree confirm/cancel book/cancel schedule/cancel order/cancel renew/cancel keep/cancel
    keep/discard save/discard expand/collapse extend/shorten encrypt/decrypt encode/decode compress/decompress
    zip/unzip serialize/deserialize hire/fire employ/dismiss maximize/minimize love/hate like/dislike laugh/cry
    remember/forget freeze/unfreeze upgrade/downgrade promote/demote inflate/deflate inhale/exhale ascend/descend
    appear/disappear add/subtract attract/repel build/demolish capture/release conceal/reveal construct/demolish
    create/destroy accelerate/decelerate defrost/freeze thaw/freeze discourage/encourage dilute/concentrate
    divide/multiply emigrate/immigrate fail/succeed fasten/loosen tighten/loosen float/sink heat/cool
    ignite/extinguish merge/split mount/dismount oppose/support overestimate/underestimate pause/resume pause/continue
    pause/cancel pause/stop stop/continue stop/resume cancel/continue cancel/resume punish/reward shrink/expand
    shorten/lengthen strengthen/weaken improve/worsen brighten/darken arrive/leave give/receive give/take
    attack/defend ask/answer cause/prevent cure/cause inhibit/promote lend/return undo/redo
    fold/unfold throw/catch read/write
"""
"""Verbs, which are opposites in every form; what ends in 'ed' may be a state, which is against such alone."""
_IN_ONE_FORM: Final = frozenset("open/close book/cancel order/cancel schedule/cancel".split())
"""'Open' is a state as well, and a 'booking' is what one cancels."""
_SIDES: Final = """
    cause causes reason reasons origin origins trigger triggers / effect effects consequence consequences
    cause causes reasons / outcome outcomes aftermath
    cause causes origins roots reasons / impact impacts implications result results
    allowed permitted legal lawful authorized / forbidden prohibited banned illegal outlawed barred
    allow allows permit permits / forbid forbids prohibit prohibits ban bans disallow disallows
    mandatory compulsory obligatory required necessary / optional voluntary recommended advisable suggested
    obliged obligated / entitled permitted allowed free
    safe safer safest / risky riskier riskiest dangerous hazardous unsafe
    accept accepts accepted / refuse refuses refused
    word / sentence paragraph page chapter
    sentence / paragraph page chapter
    paragraph / page chapter
    daily / weekly monthly yearly annually quarterly
    weekly / monthly yearly annually quarterly
    monthly / yearly annually quarterly
    cheap cheaply budget affordable inexpensive frugal / luxury luxurious luxuriously lavish upscale high-end
    sad tragic tearful / happy cheerful funny uplifting smile laugh
    formal formally / casual casually informal relaxed jokey
    beginner beginners novice / advanced experienced expert experts
    humorous funny hilarious comic comedic witty / serious solemn somber
    scary spooky creepy / gentle soothing cozy cosy
    outdoor outdoors outside / indoor indoors inside
    solo / group groups
    quiet calm / lively energetic
    traditional conventional old-fashioned vintage / modern contemporary unconventional
    man men male / woman women female
    teenager teenagers teens / senior seniors elderly
    breakfast / lunch dinner supper
    lunch / dinner supper
    free available vacant unoccupied / reserved occupied booked
    currently nowadays presently / formerly previously originally
    good great excellent wonderful fantastic / bad terrible awful horrible dreadful
"""
"""A line: each word on one side is against each on the other."""


def _forms(verb: str) -> Iterator[tuple[str, ...]]:
    """The verb, and what ends in 's', 'ing' and 'ed' if it is regular; where its last letter may be doubled, in both
    ways."""
    short = verb[:-1] if verb.endswith("e") else verb
    past = verb[:-1] + "i" if verb.endswith("y") and verb[-2] not in "aeou" else short
    doubled = (verb + verb[-1],) if verb[-1] in "bdglmnprt" and verb[-2] in "aeiou" else ()
    yield (verb,)
    yield (past + "es" if past.endswith(("i", "s", "x", "ch", "sh")) else verb + "s",)
    yield tuple(one + "ing" for one in (verb if verb.endswith("ee") else short, *doubled))
    yield tuple(one + "ed" for one in (past, *doubled))


def _antonyms() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    pairs = [tuple(pair.split("/")) for pair in _PAIRS.split()]
    for one, other in (pair.split("/") for pair in _VERBS.split()):
        here, there = [*_forms(one)], [*_forms(other)]
        for these, those in zip(here, there, strict=True):
            pairs += product(these, those)
        if f"{one}/{other}" not in _IN_ONE_FORM:
            pairs += product(chain(*here[:-1]), chain(*there[:-1]))
    for line in _SIDES.strip().splitlines():
        one, other = line.split(" / ")
        pairs += product(one.split(), other.split())
    for a, b in pairs:
        table.setdefault(a, set()).add(b)
        table.setdefault(b, set()).add(a)
    return {word: frozenset(others) for word, others in table.items()}


ANTONYMS: Final = _antonyms()
"""A word to its opposites."""
