"""What the name of a column suggests about it. A name alone never decides a role."""

import re


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


IDENTIFYING = _words(
    "account address case client code company customer email employee enterprise establishment "
    "family firm guid hh hhid hid household iban id ident identification identifier idno index ip "
    "key label licence license mail member mobile name names no nr num number passport patient "
    "person phone pid postcode pupil record respondent row serial ssn street student subject "
    "surname taxpayer telephone uid url uuid"
)
"""Words in names of columns that tell records apart."""

ENTITIES = _words(
    "account case claimant client company customer employee enterprise establishment family firm "
    "hh hhid hid household id ident identification identifier idno insured member patient person "
    "pid pupil respondent ssn student subject taxpayer uid utility"
)
"""Words for a person, household or company to which several records may belong."""

DIRECT = _words(
    "address email fax firstname forename iban ip lastname mail mobile name passport phone ssn "
    "street surname telephone url"
)
"""Words for columns that lead straight to a person, even where a value repeats."""

CLASSES = _words(
    "area branch brand category city class cluster commune country county department district "
    "division grade group hospital industry kind municipality nationality occupation product "
    "province region school sector site species state station status store stratum type ward "
    "zone"
)
"""Words for columns that sort records into classes, whatever else their name says."""

CODES = _words(
    "atc code codes coicop commune cpt cpv diagnosis drg icd icd10 icd9 industry isco isic lau "
    "municipality naics nace nuts occ occupation plz postal postcode procedure sic soc zip "
    "zipcode"
)
"""Words for codes of a classification, whose digits are no quantity."""

WEIGHTS = _words(
    "afnlwgt fnlwgt gewicht gewichtung hwgt perwt pond ponderation pondera pweight pwgt wgt "
    "wgts wt weight weights"
)
SAMPLING = _words("base design final household hh person sample sampling survey")
"""Words beside `weight` that leave no doubt."""
BODILY = _words("bmi body birth height horsepower length mpg pregnancies stature waist")
"""Words of other columns beside which a weight is likely to be that of a body or a thing."""

SENSITIVE = _words(
    "benefit conviction credit debt debts diagnoses diagnosis disease earnings hiv illness income "
    "offence outcome profit profits rating result results salaries salary savings treatment wage "
    "wages wealth"
)
"""Words for values that attackers may want to learn, rather than know."""

COUNTS = _words(
    "age ages amount beds bedrooms cars children count counts days dependants dependents episodes "
    "freq hours members months nb num number persons pregnancies qty quantity rank rooms score "
    "size times total visits weeks years"
)
"""Words for numbers that can be averaged, even where there are few of them."""

YEARS = _words("anno annee annees ano born founded jahr year years yob yr")

WORDS_IN_ID = _words(
    "acid android avid bid covid fluid grid humid invalid liquid lipid mid morbid paid peptid "
    "rapid raid said solid steroid thyroid void valid"
)
"""Words that end like a number of identity, and are none."""

FUSED = 5
"""Letters from which on the end of a word is read as a word of its own, as in UTILNAME."""


def words_of(name: str) -> set[str]:
    """Split the name of a column into words, in lower case.

    Examples
    --------
    >>> sorted(words_of("PatientID")), sorted(words_of("OCCUCODE")), sorted(words_of("paid"))
    (['id', 'patient'], ['code', 'occu', 'occucode'], ['paid'])
    """
    parts = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    words = {word.casefold() for word in re.findall(r"[^\W_]+", parts)}
    words |= {re.sub(r"[0-9]+$", "", word) for word in words} - {""}
    for word in list(words):
        for ending in ("code", "name", "id"):
            if len(word) >= FUSED and word.endswith(ending) and word not in WORDS_IN_ID:
                words |= {word.removesuffix(ending), ending}
    return words - {""}


def names_records(name: str) -> bool:
    """Check whether a name is that of a column that tells records apart."""
    words = words_of(name)
    # "number of rooms" counts; "number" tells apart
    return bool(words & IDENTIFYING) and not words & CLASSES and "of" not in words


def names_units(name: str) -> bool:
    """Check whether a name is that of a person, household or company."""
    words = words_of(name)
    return bool(words & ENTITIES) and not words & CLASSES and not words & COUNTS


def names_directly(name: str) -> bool:
    """Check whether a name is that of a column that leads straight to a person."""
    words = words_of(name)
    return bool(words & DIRECT) and not words & CLASSES


def names_weight(name: str, others: set[str]) -> bool:
    """Check whether a name is that of a sampling weight, given the words of all other names."""
    words = words_of(name)
    if not words & WEIGHTS:
        return False
    return not (words | others) & BODILY or bool(words & SAMPLING)
