"""The sentences of the report: roles, methods, parameters, attacks and risks in words that need no glossary."""

from __future__ import annotations

ROLES = {
    "identifier": "Names a person. Never stored and never published; only a keyed pseudonym is remembered.",
    "quasi-identifier": "May be known from elsewhere. Published coarsely, the same for everyone of a group.",
    "sensitive": "What nobody may learn of a person. Published as it is; the group hides whose it is.",
    "insensitive": "Taken to tell nothing of a person. Published as it is.",
    "drop": "Left out of every release.",
}

_GROUPS = "People are put into groups, and all rows of a group show the same quasi-identifiers. "
_SAME_VALUES = (
    "Every group shows at least m different sensitive values, and a person is always published among the same ones, "
    "so that comparing releases leaves all of them possible. Where a value is missing from a group that needs it, a "
    "counterfeit row fills the place. "
)
METHODS = {
    "mondrian": _GROUPS
    + "The table is cut in two at a median, again and again, for as long as both halves keep what is promised of a "
    "group. Every release is made without a look at earlier ones.",
    "penalty-tree": _GROUPS
    + "Sets of rows are cut in two where that makes their cells narrowest, for as long as both parts keep what is "
    "promised of a group. Every release is protected without a look at earlier ones.",
    "banga": _GROUPS
    + "Space is halved into regions, one quasi-identifier after the other, and neighbouring regions in which people "
    "live about as densely are merged until each keeps what is promised of a group. Every release is protected without "
    "a look at earlier ones, but where rows are only added: then groups stay as they are and newcomers join them.",
    "rplus-tree": _GROUPS
    + "The rows are loaded into a spatial index whose leaves become the groups. Every release is made without a look "
    "at earlier ones.",
    "m-invariance": _GROUPS
    + _SAME_VALUES
    + "A person who comes back after an absence is treated as a newcomer.",
    "tau-safety": _GROUPS
    + _SAME_VALUES
    + "This holds over absences of any length. A person who comes back with another value is published among the old "
    "values or among entirely different ones, which says nothing about either.",
    "cor-split": _GROUPS
    + _SAME_VALUES
    + "In addition two groups of different releases never differ by fewer than n people, so that taking one from the "
    "other does not single anybody out.",
    "cohorts": "People are put into large groups once and stay together for life, so that later releases tell little "
    "that the first did not. Open places are held by counterfeit rows until several can be filled at once. Before "
    "every release a bound is computed on how many people an adversary could determine from all releases together; a "
    "group that would exceed it does not change.",
    "value-blind": "People are put into batches by their quasi-identifiers, by numbers of people and by chance, "
    "without a look at anybody's value, and stay together. A batch says how often each value occurred in it when it "
    "was last counted. It is counted anew only when several people have left or changed, or several have come. Before "
    "every release a bound is computed on how many people an adversary could determine from all releases together; a "
    "batch that would exceed it is not counted anew.",
    "js-reduce": _GROUPS
    + "The publisher reckons with an adversary who knows how likely values are and how they follow each other. "
    "Before every release it works out what she believes of everyone from all releases so far, and puts people "
    "together of whom she believes much the same.",
    "bayframe": _GROUPS
    + "The publisher reckons with an adversary who knows how likely values are, how they follow each other, and the "
    "values of some people more or less surely. Before every release it works out what she believes of everyone, and "
    "puts people together of whom she believes much the same.",
}

_BATCHES = (
    "People are put into groups, whose sensitive values are counted batch by batch in a table of their own; "
    "quasi-identifiers stand in another table. "
)


def method(publisher: str, two_tables: bool) -> str | None:
    """What a publisher does, in one table or in two; `None` where nothing is written of it."""
    said = METHODS.get(publisher)
    return said if said is None or not two_tables else said.replace(_GROUPS, _BATCHES)


TABLES: dict[str, tuple[str, ...]] = {
    "rows": ("rows of people", "counterfeit rows", "suppressed rows (not published)"),
    "columns": ("rows of the view", "published", "suppressed", "counterfeit", "groups"),
    "group": (
        "A group is a set of rows that look alike in every quasi-identifier. Rows of the view that no group could take "
        "are suppressed: left out. Counterfeit rows belong to nobody; how many there are in a group is published, "
        "which ones is not.",
    ),
}
TWO_TABLES: dict[str, tuple[str, ...]] = {
    "rows": ("people with a batch", "counterfeit values", "people without a batch"),
    "columns": ("rows of the view", "people", "without batch", "counterfeit values", "groups of people"),
    "group": (
        "The table of people has one line a person. A group is a set of people who look alike in every "
        "quasi-identifier; it is made from quasi-identifiers alone. A batch is a set of people whose sensitive values "
        "are counted together in the table of values. A person without a batch is shown among the people, and her "
        "value is not counted. Counterfeits are counted values that belong to nobody; how many there are in a batch is "
        "published.",
    ),
}
KEPT_COUNTS: dict[str, tuple[str, ...]] = {
    "rows": ("people counted", "held: counted as they were", "waiting, or without a batch"),
    "columns": ("rows of the view", "people", "waiting or without batch", "held", "groups of people"),
    "group": (
        "The table of people has one line a person. A group is a set of people who look alike in every "
        "quasi-identifier; it is made from quasi-identifiers alone. A batch is a set of people whose sensitive values "
        "are counted together in the table of values, not anew in every release. A person who came or changed since "
        "then waits: she is shown among the people, and her value is not counted yet. A person who left or changed "
        "since then is held: she is counted as she was. Both numbers are published of every batch.",
    ),
}
ROLES_IN_TWO_TABLES = {
    "quasi-identifier": "May be known from elsewhere. Published in the table of people, the same for a whole group.",
    "sensitive": "What nobody may learn of a person. Counted in the table of values, batch by batch.",
    "insensitive": "Taken to tell nothing of a person. Published as it is in the table of people.",
}
RECIPIENTS = (
    "A recipient counts people by quasi-identifiers from the table of people, nearly exactly: cells are as fine as k "
    "allows.",
    "A recipient estimates how often values occur among people with some quasi-identifiers by giving every person the "
    "shares of her batch. Counterfeits are part of the shares.",
    "No recipient can see which person of a batch has which value. Relations between quasi-identifiers and values "
    "are kept as far as batches differ in both.",
)
REGISTER_HOLDERS = (
    "An adversary who knows a person's quasi-identifiers finds the person's group, and with it the batches that people "
    "of the group are in. These are mostly far fewer than the groups of one blurred table that would fit the person.",
    "What is promised of batches holds even for an adversary who knows the batch of everyone. What she learns more is "
    "which batch it is likely to be, and that a person like this one is in the release.",
    "Cells of people are kept: an adversary who puts several releases side by side is left with one of the cells, "
    "which held at least k people. People in cells that extend over a cut that died are counted, for such cells may "
    "cross others.",
)
HIDDEN_BATCHES = (
    "An adversary who knows a person's quasi-identifiers finds one cell of every batch that the person fits, and can "
    "exclude no batch; a missing quasi-identifier may exclude some. Where a batch has many people like this person "
    "its cells are smaller, which makes it likelier.",
    *REGISTER_HOLDERS[1:],
)

PARAMETERS = {
    "k": "fewest rows of a group",
    "m": "how many different sensitive values a person hides among at least",
    "n": "fewest people by whom two groups of different releases may differ",
    "t": "how far the values of a group may be from those of the whole table, 0 to 1",
    "j": "how far beliefs about the members of a group may be apart, in bits",
    "beta": "by how much a value may be more frequent in a group than in the table, as a multiple",
    "size": "most rows of a new group",
    "batches": "whether batches are open to newcomers, or closed once they are made",
    "weights": "how much each quasi-identifier counts where people are put together",
    "newcomers": "people are taken in when so many need it, and a value never published before hides among so many",
    "membership": "whether people are put together by chance, or the nearest, which tells of their values",
    "zone": "new groups are made among about so many near people",
    "values": "different values of a new group",
    "together": "places of so many different values must be open before a group changes",
    "max_determined": "share of people who may be expected to be determined",
    "compromised": "share of people whose values an adversary is taken to know",
    "pad": "whether counterfeits help out where values are too uneven",
    "p": "probability that an adversary knows a person's value; together with L and h it chooses n",
    "L": "how often a person is published at most while the value stays the same; given together with p and h",
    "h": "what the probability of a breach stays below, by the paper's formula; given together with p and L",
    "retire": "whether people are left out once they were published L times; otherwise such a view is refused",
    "cell": "groups are dealt from lists of people in parts of so many",
    "theta": "which values are possible for whom, so that nobody hides among others; not shown here",
    "strict": "whether rows with equal values always stay together",
    "bt": "width of what an adversary knows, and how much she may learn",
    "crowd": "people a group should hold, each counted by how uncertain the value still is",
    "keep": "price of parting people who were together in the last release",
    "order": "order in which rows are walked through",
    "cut": "how the walk is cut into groups",
    "rest": "what becomes of rows that fit in no group",
    "slack": "factor on the limits for rows that fit in no group",
    "least_k": "fewest people in a group of rows that fit in no other (0: no fewer than in all)",
    "distance": "how beliefs are compared: Jensen-Shannon divergence (js) or Kolmogorov-Smirnov distance (ks)",
    "against": "what the values of a group are compared with",
    "posterior": "how the adversary is taken to draw conclusions",
    "omega_above": "group size above which she is taken to make the Omega-estimate (0: none)",
    "steps": "how many last values she is taken to look at",
    "form": "what is kept of her belief from release to release",
    "event_lists": "whether an adversary who weighs all releases also knows whose value changed since the last",
    "withstand": "bits by which weighing all releases together may stray from what a group shows; 0: not measured",
    "cascade": "where knowledge of single people enters",
    "assignment": "how newcomers are put into open places",
    "signatures": "which values a person may hide among after a change",
    "partition": "whether groups are gathered around single people, or cut by nested regions of space",
    "block": "most groups that are gathered together inside a nested region",
    "split": "rows from which a block is split; 0: twice the fewest and one more",
    "compact": "whether a region is made as narrow as the rows of its group",
    "insert_only": "whether regions and groups of the first release stay, for tables to which rows are only added",
    "bits": "resolution of the quasi-identifiers",
    "scales": "break points between which values are not distinguished; not shown here",
    "incremental": "whether the index of the last release is mended instead of made anew",
    "packed": "whether leaves are filled evenly",
}
PARAMETERS_OF = {
    "penalty-tree": {"m": "fewest rows of a block that groups are merged from"},
    "banga": {"m": "fewest rows of a block that groups are merged from; at most k"},
    "rplus-tree": {"m": "fewest rows of a leaf; 0: k"},
    "cor-split": {
        "assignment": "whether newcomers join existing sets of values first, or always get new ones"
    },
    "cohorts": {"m": "no value has more than one row in m of a group"},
    "value-blind": {
        "m": "no value has more than one episode in m of a batch",
        "n": "a batch is counted anew only when so many episodes end, or begin, together",
        "size": "about how many people a new batch has",
    },
}

ATTACKS = {
    "intersection": "keeps the values that all groups of a person hold while the value does not change",
    "tau": "also links people who come back, uses that a changed value is another one, and rules out values that "
    "others of the group must have",
    "compromised": "rules out the values of people she knows, and of everyone she has determined so far",
    "historical": "subtracts groups of different releases from each other",
    "differencing": "compares unions of groups that differ by few people",
    "linear": "solves all groups of all releases together as one system of equations",
    "beliefs": "weighs values by how they follow each other, release by release",
    "joint": "weighs values by how they follow each other, all releases at once",
    "gathering": "knows the program and asks in which worlds groups that grow by the nearest row become these",
    "halving": "knows the program and asks in which worlds cuts at a threshold of every value leave these groups",
    "matched": "does not know who is in which group and looks for groups that fit",
    "linkage": "follows the rows of a person over releases by their cells, without looking at values",
    "presence": "tells by the cells who is in a release at all, with a register of everyone ever in the series",
    "bcf": "compares counts of neighbouring releases and cracks rows of a group that cannot be a person's: forward, "
    "cross and backward",
    "tracing": "follows rows through all releases of data that grow: by difference, intersection and record tracing",
    "minimality": "runs the publisher again on every possible input of a small series",
    "suppression": "concludes from who was left out",
    "swap": "lets two people of a group exchange their values and runs the publisher again",
}

IDENTITIES = {
    "linkage": {
        "alone": "people of whom nobody else fits all cells that were theirs while their quasi-identifiers stayed the "
        "same: an adversary who follows their rows is left with them alone",
        "below_k": "people with whom fewer fit than the smallest cell of a release holds",
        "median_left": "people who fit all cells of a person, median",
        "median_batches": "batches that may be a person's, to an adversary who knows her quasi-identifiers and in "
        "which releases she is, median",
        "one_batch": "people with a single batch that may be theirs",
        "unique_cells": "people whose insensitive cells nobody else of a release has",
        "same_cells": "people of several releases whose insensitive cells never change",
        "followed_by_cells": "people of several releases whose insensitive cells never change and are always unique",
    },
    "presence": {
        "shown_present": "present people of whom that is certain: their cell has as many rows as the register people; "
        "no news while nobody was absent yet",
        "shown_absent": "absent people of whom that is certain: no cell admits them",
        "mean_present": "mean probability to be present, of those who are",
        "mean_absent": "mean probability to be present, of those who are not",
    },
    "bcf": {
        "fewest_left": "rows of their group that may still be the worst placed person's",
        "below_k": "people with fewer such rows than the smallest group of a release has",
        "one_value": "people whose rows that are left all have one value",
        "median_left": "rows that may still be a person's, median",
        "forward": "with fewer than that, of people who are in the next release too",
        "cross": "with fewer than that, of people who were in the last release",
        "backward": "with fewer than that, of people who are new while nobody left or changed",
    },
    "tracing": {
        "fewest_left": "rows of their groups that may be the worst placed person's all the time",
        "below_k": "people with fewer such rows than the smallest group of a release has",
        "one_value": "people whose rows that are left all have one value",
        "median_left": "rows that may be a person's all the time, median",
        "intersection": "people with fewer than that by counts alone",
        "difference": "with fewer than that by rows that are not new, of people who are new while nobody left or "
        "changed",
    },
    "swap": {
        "told_apart": "pairs of a group whom an adversary distinguishes who knows the program and all but who of two "
        "has which value",
    },
}
"""The figures of attacks that seek no value; shares, but for medians and fewest."""
IDENTITY = (
    "An adversary who does not look at values has a register of everyone who was ever in the series, with their "
    "quasi-identifiers, and asks which rows are whose, and who is in a release at all. The raw views play the register."
)

RISKS = {
    "Prosecutor": "The adversary knows that one particular person is in the release and looks for that person's row. "
    "The risk is the chance of picking the right one: 1 divided by the rows of the group.",
    "Journalist": "The adversary picks any person of the population, who may or may not be in the release, to show "
    "that it can be done. The risk is 1 divided by the people of the population whom the group fits. No population "
    "table was given, so the release is taken for the whole population, which is the worst case and equal to the "
    "prosecutor's risk.",
    "Marketer": "The adversary links everybody and is content to be right about a share. The risk is the expected "
    "share of people linked to the right row.",
}
ALONE = (
    "These three are about finding a person's row in one release taken alone. They say nothing of what several "
    "releases give away together; that is the serial risk below."
)
THRESHOLDS = (
    "Lines mark limits in use in the field: a risk of at most 0.09 or 0.05, and groups of at least 5, 11 or 20 rows. "
    "(0.09 is 1/11 rounded down: a group of 11 has a risk of 0.0909 and lies just above the line.) Which of them "
    "applies is for your own rules to say."
)
SERIAL = (
    "An adversary keeps all releases, withdrawn ones too, and puts them side by side. Attacks play her part against "
    "this series; the true values, which the series remembers under pseudonyms, only serve to count how often she is "
    "right. A person is determined when no other value is left. Confidence is her probability of the true value."
)
SERIAL_LINES = (
    "The lines at 5% and 9% are the same thresholds read as shares of people. They were made for finding rows in "
    "one table and are drawn to compare by."
)
FIGURES = {
    "people": "People attacked: everyone in a release so far whom she did not know beforehand.",
    "determined": "People of whom only the true value is left.",
    "above .9, above .5": "Shares of people of whose true value she is surer than .9 and .5.",
    "mean and worst confidence": "Her probability of the true value, on average and of the worst-off person.",
    "gain": "How much of the way from counting the rows of a group to certainty she has come, on average.",
}
USEFULNESS = {
    "penalty": "How much of its domain the average published cell leaves open: 0 is exact, 1 says nothing. A row "
    "that is left out counts 1.",
    "average_class_size": "Rows of the average group. Smaller is more useful.",
}
LIMITS = {
    "max_determined": "share of people determined",
    "max_undecided": "share of people of whom the attack could not tell whether they are determined",
    "max_above_nine_tenths": "share of people of whose value she is surer than .9",
    "max_above_half": "share of people of whose value she is surer than .5",
    "max_confidence": "confidence in the worst-off person",
    "max_mean_confidence": "mean confidence",
    "max_gain": "mean gain",
    "max_alone": "share of people whose rows lead to them alone",
    "max_cracked": "share of people with fewer rows left by bcf than the smallest group has",
    "max_traced": "share of people with fewer rows left by tracing than the smallest group has",
    "max_told_apart": "share of pairs of a group whom an adversary distinguishes who knows the program and all other "
    "values",
    "max_below_k": "share of people whose rows lead to fewer people than the smallest cell holds",
    "max_shown_present": "share of present people of whom that is certain",
    "max_shown_absent": "share of absent people of whom that is certain",
}

PAST_PROMISES = (
    "The promise is about comparing groups. Solving all releases together as equations may determine people all the "
    "same, more of them the longer the series is and the more people are known beforehand; the attack linear "
    "measures it.",
    "The promise is against an adversary who does not know how values follow each other.",
)
BELIEFS = (
    "What an adversary knows is taken to be the knowledge of the policy, or what is counted from the views where "
    "there is none. An adversary who knows better may believe more.",
    "The promise is about what is believed before a release. What she believes after it is measured by the attacks "
    "beliefs and joint.",
)
ALONE_ASSUMPTION = (
    "Recipients see one release only, or do not put several side by side. An adversary who does is outside of what is "
    "promised.",
)
ASSUMPTIONS = {
    "mondrian": ALONE_ASSUMPTION,
    "penalty-tree": ALONE_ASSUMPTION,
    "banga": ALONE_ASSUMPTION,
    "rplus-tree": ALONE_ASSUMPTION,
    "m-invariance": PAST_PROMISES,
    "tau-safety": PAST_PROMISES,
    "cor-split": PAST_PROMISES,
    "cohorts": (
        "People are compromised independently of each other, with the probability of the policy.",
        "The bound is on people determined without doubt. It says nothing of an adversary who is nearly sure, nor of "
        "one who knows how values follow each other.",
    ),
    "value-blind": (
        "People are compromised independently of each other, with the probability of the policy.",
        "The bound is on people determined without doubt, on average and for the worst placed person. How sure an "
        "adversary may be without being certain is measured by attacks.",
    ),
    "js-reduce": BELIEFS,
    "bayframe": BELIEFS,
}
EVERYWHERE = (
    "An identifier means the same person in every view, and no person has two.",
    "The roles of the columns are right: every column that may be known from elsewhere is a quasi-identifier, and "
    "insensitive columns tell nothing of a person.",
    "The secret of the series and its private folder stay private.",
    "Attacks measure what these adversaries find with what they are granted. Another one may find more, and with "
    "other compromised people the figures differ.",
)
