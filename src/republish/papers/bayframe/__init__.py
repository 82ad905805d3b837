"""BayFrame's experiments (Amiri, Yazdani, Shakery and Ho, 2019, section 6)."""

from __future__ import annotations

from republish.papers.bayframe.figures import FIGURES
from republish.papers.bayframe.studies import cells
from republish.papers.study import Paper
from republish.publishers import BayFrame
from republish.publishers.bayframe import LARGEST

__all__ = ["PAPER"]

PAPER = Paper(
    name="bayframe",
    title="BayFrame: Bayesian anonymization against background knowledge",
    citation=BayFrame.paper,
    data=(
        "Bkseq is gone; in its place 24 weekly views of 4,000 rows of the generated hospital series, with "
        "the distributions it is drawn from as the adversary's knowledge, cut to the last value (FDTMM) or "
        "the last two (SDTMM). Adult: 24 views of 4,000 rows, from each to the next 400 rows leave, 400 "
        "others come, and 400 of those who stay are given any occupation; quasi-identifiers age, gender and"
        " education, ordered by its number of years; the prior is counted in all of Adult by 18 classes "
        "(three bands each of age and education, two genders), and any occupation is as likely to follow "
        "any other. The number of releases of Adult is not in the paper. Parameters as there: k = 3, beta ="
        " 5, J = 0.6, CR = 0.9 unless the figure varies them; k = 3, t = 0.5, J = 0.6 where JS-reduce is "
        "compared. The paper uses its Bayesian estimator and, for large groups, the Omega-estimate, and "
        f"does not say from which size on: here above {LARGEST} members, beyond which bijections are too "
        "many to list. JS-reduce uses the Omega-estimate, as in its own experiments. Gain is that of "
        "equation 8 with the framework's own posteriors, over published records; a release that publishes "
        "none has no gain. A point of an R-U map is a release; a record left out counts as a full penalty "
        "and is linked to nothing. Sums are for 4,000 rows; a quick run has 2,000. In figure 4 the adversary "
        "learns of compromised records after each release and the publisher does not. Of table 12 each "
        "parameter is varied with the others as above, sigma = 0.01 and cascading through the prior. "
        "A line of our own in figure 9a is what exact posteriors, with full knowledge, gain from the same "
        "releases."
    ),
    cells=cells,
    figures=FIGURES,
    counterpart="bayframe-fitted",
)
