"""Guard: of one kind of things, the texts name different ones, however they are worded.

'Are dogs allowed?' / 'do you take cats?', 'paint a room blue' / 'red paint for a room', 'will it rain?' / 'is snow to
come?'. The vectors of such words are as near to one another as those of two words for one thing.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Final

from ..text.signature import Signature

_KINDS: Final = """
    red / blue / green / yellow / orange / purple violet / pink / brown / black / white / gray grey / gold golden /
        silver
    gold / silver / copper / aluminum aluminium / iron / steel / zinc / nickel / platinum / titanium / bronze / brass
    mother mom mum mama / father dad papa / sister / brother / son / daughter / aunt / uncle / cousin /
        grandmother grandma granny / grandfather grandpa / nephew / niece / stepmother / stepfather / girlfriend /
        boyfriend
    dog puppy / cat kitten / rabbit bunny / hamster / horse pony / cow / pig / sheep / goat / snake / spider / bee /
        wasp / ant / mosquito / cockroach roach / mouse mice / rat / lion / tiger / wolf / elephant / shark / whale /
        dolphin / monkey / parrot / turtle / lizard / frog / deer / squirrel / pigeon / eagle / owl / goldfish /
        bedbug / termite / flea
    car automobile / motorcycle motorbike / truck lorry / bicycle / bus / train / plane airplane aeroplane / ferry /
        taxi cab / subway metro / tram / scooter / helicopter / yacht / van / tractor
    rain rainy raining / storm thunderstorm / snow snowy snowing snowfall / fog foggy / sunny / hail / humid humidity
    coffee / tea / milk / beer / wine / juice / soda / vodka / whiskey whisky / rum / cocoa / lemonade
    chicken / beef / pork / lamb / turkey / bacon / salmon / tuna / shrimp prawn / lobster / crab / duck / venison
    apple / banana / orange / grape / strawberry / lemon / lime / mango / peach / pineapple / watermelon / cherry /
        blueberry / raspberry / kiwi / avocado / pear / plum / apricot
    carrot / potato / tomato / onion / garlic / ginger / spinach / broccoli / cabbage / lettuce / corn maize / rice /
        wheat / cucumber / pumpkin / zucchini courgette / eggplant aubergine / cauliflower / mushroom / celery /
        asparagus / kale / lentil / chickpea / oat / barley / rye / quinoa / cinnamon / turmeric / basil / parsley /
        paprika
    butter / margarine / cheese / yogurt yoghurt / honey / flour / vinegar / mayonnaise / ketchup / mustard / yeast
    knee / elbow / skin / hair / nail fingernail / shoulder / ankle / wrist / hip / neck / finger / toe / ear / eye /
        nose / tooth teeth / stomach / liver / kidney / lung / brain / throat / tongue / thigh / calf / jaw / thumb /
        heel / bladder / pancreas / thyroid / prostate
    laptop / phone smartphone / tablet / tv television / printer / router / camera / keyboard / monitor / headphone /
        speaker / projector / scanner / webcam / smartwatch / fridge refrigerator / dishwasher / microwave / oven /
        toaster / dryer / blender / vacuum / freezer / kettle
    tennis / golf / basketball / baseball / cricket / hockey / swimming / rugby / volleyball / badminton / boxing /
        wrestling / football soccer / cycling / skiing / surfing / yoga / chess / poker
    guitar / piano / violin / drum / flute / cello / trumpet / saxophone / harmonica / ukulele / clarinet
    shirt / shoe / jacket coat / trousers jeans pants / hat / sock / glove / skirt / sweater / scarf
    boot / sandal / sneaker / slipper
    sofa couch / bed / table / chair / desk / wardrobe / mattress / bookshelf / carpet / curtain
    bathroom / kitchen / bedroom / living_room / dining_room / balcony / garage / basement / attic / garden /
        terrace / hallway
    roof / window / floor / door / ceiling / chimney / gutter / faucet tap / toilet / sink / bathtub / shower
    doctor physician / nurse / teacher / lawyer attorney / plumber / electrician / dentist / pilot / accountant /
        pharmacist / firefighter / veterinarian vet / chef / journalist / carpenter / psychologist
    adult grown-up grownup / child children kid infant baby toddler
    student / senior pensioner retiree / veteran / teacher / nurse / employee / toddler / teenager / tourist
    passport / license licence / visa / diploma / receipt / invoice
    wood wooden timber / metal / plastic / glass / leather / cotton / concrete / ceramic / wool / rubber / silk /
        linen
    mathematics math maths / physics / chemistry / biology / history / geography / economics / philosophy / psychology
    pdf / csv / json / xml / xlsx / jpg jpeg / png / gif / svg / docx / mp3 / mp4 / zip / yaml / html
    calcium / magnesium / potassium / sodium / iron / zinc / iodine / selenium
    hydrogen / oxygen / nitrogen / carbon / helium / chlorine / sulfur sulphur / sodium / calcium / neon / mercury /
        lead
    sun / moon / earth / mars / venus / jupiter / saturn / uranus / neptune / pluto
    circle / square / triangle / rectangle / sphere / cube / cylinder / cone / pyramid / hexagon / ellipse / trapezoid
    sine / cosine / tangent
    christian christianity / muslim islam islamic / jewish judaism / hindu hinduism / buddhist buddhism / sikh sikhism
    christmas xmas / easter / thanksgiving / halloween / ramadan / diwali / hanukkah
    bank / hospital / library / pharmacy drugstore / supermarket / museum / airport / church / zoo / stadium / cinema
    wifi / parking / breakfast / towel / pool / gym / sauna
    flu influenza / diabetes / asthma / measles / malaria / cancer / arthritis / pneumonia / hepatitis /
        anemia anaemia / epilepsy / migraine / tuberculosis / dementia / depression / stroke / acne / eczema /
        psoriasis / gout / autism
    ibuprofen / paracetamol acetaminophen tylenol / aspirin / antibiotic / insulin / morphine / steroid / metformin
    spanish / french / german / japanese / chinese mandarin / italian / russian / arabic / hindi / korean /
        portuguese / english / dutch / turkish / greek / latin / hebrew / swedish / polish
    overdraft / pension / inheritance / dividend
    solar / nuclear / hydroelectric / geothermal / coal
    salmon / trout / tuna / cod / haddock / mackerel / herring / sardine / anchovy / halibut / sea_bass / carp / eel /
        catfish
    canary / parrot / budgie budgerigar / cockatiel / chicken hen / duck / goose / turkey / pigeon / robin / sparrow /
        crow / swan / penguin / hummingbird / woodpecker / seagull / peacock / ostrich / quail
    labrador / poodle / beagle / bulldog / dachshund / chihuahua / husky / greyhound / rottweiler / pug / terrier /
        collie
    python / boa / cobra / gecko / iguana / chameleon / tortoise / turtle
    oak / pine / maple / birch / willow / elm / cedar / palm / spruce / beech / bamboo / eucalyptus
    rose / tulip / orchid / lily / daffodil / sunflower / lavender / hydrangea / geranium / peony / daisy / begonia /
        cactus / hibiscus / jasmine / petunia / azalea / dahlia / marigold / succulent / fern / ivy
    guitar / oboe / viola / bassoon / trombone / tuba / banjo / mandolin / accordion / harp / organ / ukulele /
        cello / piano
    judo / karate / taekwondo / aikido / boxing / wrestling / fencing / kickboxing / jiu-jitsu
    salsa / tango / waltz / ballet / zumba / flamenco / breakdance
    jazz / blues / rock / reggae / techno / opera / hip-hop
    sergeant / captain / colonel / lieutenant / corporal / admiral
    goalkeeper goalie / striker / defender / midfielder / referee / pitcher / catcher / quarterback / linebacker
    breaststroke / backstroke / butterfly / freestyle / crawl
    squat / deadlift / plank / lunge / burpee / push-up pushup / pull-up pullup / sit-up situp
    racket / ski / snowboard / skateboard / helmet / surfboard / paddle
    brake / clutch / gearbox transmission / alternator / radiator / carburetor carburettor / muffler exhaust /
        windshield windscreen / bumper / spark_plug / battery / wiper / headlight / taillight / tire tyre /
        suspension / airbag
    diesel / petrol gasoline gas / electric / hybrid / ethanol / propane / kerosene
    backpack rucksack / suitcase / handbag purse / wallet / briefcase
    necklace / bracelet / earring / ring / brooch
    diamond / ruby / emerald / sapphire / pearl / opal / amethyst / topaz
    polyester / cotton / wool / silk / linen / nylon / denim / velvet / suede / leather / cashmere / fleece
    lipstick / mascara / foundation / eyeliner / blush / concealer / sunscreen / shampoo / conditioner / deodorant /
        perfume
    stroller pram pushchair / crib cot / pacifier dummy / car_seat / high_chair / diaper nappy
    hammer / screwdriver / drill / saw / wrench spanner / chisel / plier / ladder / shovel spade / rake / hoe /
        mower lawnmower
    acrylic / watercolor watercolour / oil_paint / gouache / chalk_paint / gloss_paint / matte_paint
    bleach / vinegar / ammonia / baking_soda / detergent
    laminate / hardwood / tile / vinyl / carpet / linoleum / cork
    mulch / compost / fertilizer fertiliser / manure / peat
    hdmi / usb / ethernet / displayport / vga / thunderbolt / bluetooth
    facebook / instagram / twitter / tiktok / linkedin / snapchat / pinterest / reddit / youtube / whatsapp /
        telegram / discord
    netflix / spotify / hulu / disney / hbo
    chrome / firefox / safari / edge / opera
    windows / macos mac / linux / ubuntu / android / ios iphone
    aws / azure / gcp
    mysql / postgresql / mongodb / sqlite / redis / oracle / mariadb / cassandra
    python / java / javascript / typescript / rust / golang / ruby / php / kotlin / swift / perl / scala / haskell
    react / angular / vue / svelte / django / flask / rails / laravel
    npm / pip / yarn / maven / gradle / cargo
    docker / kubernetes / ansible / terraform / vagrant
    excel / powerpoint / outlook / onenote
    plaintiff / defendant / judge / juror / witness / notary
    copyright / trademark / patent
    burglary / robbery / arson / murder / fraud / shoplifting / assault / kidnapping / perjury
    divorce / adoption / custody / alimony / annulment / prenup
    asylum / citizenship / residency / deportation
    maternity_leave / paternity_leave / sick_leave / annual_leave / parental_leave
    gre / gmat / toefl / ielts / lsat / mcat
    algebra / geometry / calculus / trigonometry / statistics / arithmetic
    noun / verb / adjective / adverb / pronoun / preposition
    novel / poem / essay / haiku / limerick / sonnet / song
    hurricane / tornado / earthquake / tsunami / flood / wildfire / drought / avalanche / volcano
    zeus / hades / poseidon / athena / apollo / ares / hera / hermes / aphrodite / artemis
    aries / taurus / gemini / leo / virgo / libra / scorpio / sagittarius / capricorn / aquarius / pisces
    bride / groom / bridesmaid / best_man
    x-ray / mri / ultrasound / ct_scan / endoscopy / colonoscopy / mammogram
    cardiologist / dermatologist / neurologist / oncologist / urologist / gynecologist / pediatrician / orthodontist /
        psychiatrist / optometrist / chiropractor / radiologist / podiatrist / endocrinologist
    crown / filling / root_canal / braces / denture / implant / veneer
    appendectomy / hysterectomy / vasectomy / tonsillectomy / c-section cesarean / cataract / hernia
    condom / iud / vasectomy / diaphragm
    headache / fever / cough / nausea / diarrhea diarrhoea / constipation / heartburn / rash / dizziness / insomnia
    chickenpox / measles / mumps / rubella / shingles / covid covid-19 / flu / polio / tetanus / cholera / rabies /
        hpv
    amoxicillin / penicillin / azithromycin / doxycycline / ciprofloxacin
    spay spaying / neuter neutering castration / microchip microchipping / declaw declawing
    fork / spoon / knife / plate / bowl / mug / wok / skillet frying_pan / saucepan / colander / whisk / spatula
    fry frying fried / bake baking baked / boil boiling boiled / steam steaming steamed / grill grilling grilled /
        roast roasting roasted / poach poaching poached
    cheddar / mozzarella / parmesan / feta / brie / gouda / ricotta / camembert
    almond / walnut / cashew / peanut / pistachio / hazelnut / pecan / coconut
    croissant / bagel / baguette / muffin / pancake / waffle / doughnut donut / brownie / cheesecake / tiramisu /
        cookie
    spaghetti / lasagna lasagne / macaroni / ravioli / noodle / pizza / burger / taco / burrito / sushi / ramen /
        curry / paella
    champagne / cider / gin / tequila / cognac / brandy / sherry
    rent / deposit / utility utilities
    electricity / water / gas / internet / sewage
    boiler / furnace / heat_pump / thermostat / radiator / fireplace
    bitcoin / ethereum / dogecoin / litecoin
    tuition / scholarship / dormitory
    evening_class / morning_class / weekend_class
    by_phone by_telephone via_phone / by_email via_email / by_chat via_chat /
        by_letter via_letter by_post by_mail via_mail / by_fax / by_sms via_sms by_text
    car_insurance auto_insurance vehicle_insurance / health_insurance medical_insurance / life_insurance /
        pet_insurance / home_insurance house_insurance homeowners_insurance property_insurance / travel_insurance /
        dental_insurance / renters_insurance / disability_insurance / liability_insurance / unemployment_insurance /
        flood_insurance
    savings_account saving_account / checking_account current_account / joint_account / business_account /
        student_account / brokerage_account
    student_loan / mortgage / car_loan auto_loan / personal_loan / home_loan / payday_loan / business_loan
    income_tax / property_tax / sales_tax / inheritance_tax / gains_tax / payroll_tax / road_tax / corporate_tax
    tourist_visa / student_visa / work_visa / business_visa / transit_visa
    credit_card / debit_card / gift_card / sim_card / id_card / business_card / loyalty_card / graphics_card / sd_card
    birth_certificate / death_certificate / marriage_certificate / gift_certificate
    breast_cancer / lung_cancer / skin_cancer / prostate_cancer / colon_cancer / stomach_cancer / brain_cancer
    blood_pressure / tire_pressure tyre_pressure / water_pressure / air_pressure
    almond_milk / soy_milk / oat_milk / coconut_milk / cow's_milk
    olive_oil / coconut_oil / sunflower_oil / engine_oil motor_oil / palm_oil / fish_oil
    high_school / middle_school / elementary_school primary_school / law_school / medical_school
    bachelor's_degree bachelors_degree / master's_degree masters_degree / doctorate phd / mba
"""
"""A line is a kind, ' / ' stands between its members: each of these excludes the others. '_' joins two words."""


def _forms(word: str) -> tuple[str, ...]:
    if word.endswith("y") and word[-2] not in "aeo":
        return word, word[:-1] + "ies", word + "'s"
    return word, word + ("es" if word.endswith(("s", "x", "sh", "ch", "o")) else "s"), word + "'s"


def _kinds() -> defaultdict[str, list[dict[str, str]]]:
    found: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
    for line in _KINDS.replace("/\n", "/ ").strip().splitlines():
        members = [[word.replace("_", " ") for word in member.split()] for member in line.split("/")]
        kind = {form: words[0] for words in members for word in words for form in _forms(word)}
        for word in kind:
            found[word].append(kind)
    return found


_OF: Final = _kinds()
"""The kinds that a word is of, each with its member by word."""
_NAMED: Final = frozenset(_OF)
_SECOND: Final = frozenset(word.split()[-1] for word in _OF if " " in word)


def kinds(a: Signature, b: Signature) -> bool:
    """Each names one of a kind that the other does not name."""
    left, right = _named(a), _named(b)
    return bool(left and right) and any(
        _apart(kind, left, right) for word in left - right for kind in _OF[word]
    )


def _named(s: Signature) -> frozenset[str]:
    found = s.vocabulary & _NAMED
    if s.vocabulary.isdisjoint(_SECOND):
        return found
    return found.union(pair for pair in map(" ".join, pairwise(s.words)) if pair in _NAMED)


def _apart(kind: dict[str, str], left: frozenset[str], right: frozenset[str]) -> bool:
    mine, theirs = ({kind[word] for word in words if word in kind} for words in (left, right))
    return bool(mine - theirs and theirs - mine)
