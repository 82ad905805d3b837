"""The script `read_release.R`, which lies beside a release in two tables: base R reads them and counts."""

from __future__ import annotations

import json

from republish.schema import Schema

R_SCRIPT = "read_release.R"
_TEXT = r"""# Reads a release in two tables with base R.
#
#   source("read_release.R")
#   release <- read_release(".")
#   head(release$people)                        # one line a person; NA where a value is missing
#   head(release$weights)                       # person, value, weight: the share of her batch that has the value
#   count_people(release, values = c("a"))      # people expected to have one of these values
#   count_people(release, inside(release$people$age, 40, 50), c("a"))
#
# Weights of one person add up to 1. Somebody without a batch has each value with its share of the whole release.
# Who has which value is not said; numbers of groups and batches mean nothing in another release.

read_release <- function(folder = ".") {
  sensitive <- @SENSITIVE@
  people <- read.csv(file.path(folder, "people.csv"), check.names = FALSE, stringsAsFactors = FALSE,
                     na.strings = "", colClasses = "character", encoding = "UTF-8")
  values <- read.csv(file.path(folder, "values.csv"), check.names = FALSE, stringsAsFactors = FALSE,
                     na.strings = "", colClasses = "character", encoding = "UTF-8")
  people$batch <- as.integer(people$batch)
  values$batch <- as.integer(values$batch)
  values$count <- as.numeric(values$count)
  people$person <- seq_len(nrow(people))
  total <- tapply(values$count, values$batch, sum)
  shares <- data.frame(batch = values$batch, value = values[[sensitive]],
                       weight = values$count / as.numeric(total[as.character(values$batch)]),
                       stringsAsFactors = FALSE)
  known <- people[!is.na(people$batch), c("person", "batch")]
  weights <- merge(known, shares, by = "batch")[, c("person", "value", "weight")]
  alone <- people$person[is.na(people$batch)]
  if (length(alone) > 0 && nrow(values) > 0) {
    key <- ifelse(is.na(values[[sensitive]]), "\001", values[[sensitive]])
    every <- tapply(values$count, key, sum) / sum(values$count)
    named <- ifelse(names(every) == "\001", NA, names(every))
    weights <- rbind(weights, data.frame(person = rep(alone, each = length(every)),
                                         value = rep(named, times = length(alone)),
                                         weight = rep(as.numeric(every), times = length(alone)),
                                         stringsAsFactors = FALSE))
  }
  weights <- weights[order(weights$person), ]
  rownames(weights) <- NULL
  list(sensitive = sensitive, people = people, values = values, weights = weights)
}

# The share of every cell of whole numbers that lies from low to high: "45", "[40-49]", "[-5..5]".
# A cell "<=23" or ">=61" is open; it is taken to begin at `lowest` or to end at `highest`, where you know these, and
# else for the number that it names. A cell "*" counts only where you know both.
inside <- function(cells, low, high, lowest = NA, highest = NA) {
  below <- grepl("^<=", cells)
  above <- grepl("^>=", cells)
  named <- suppressWarnings(as.numeric(sub("^[<>]=", "", cells)))
  bare <- gsub("^\\[|\\]$", "", cells)
  pattern <- "^(-?[0-9.]*[0-9])(-|\\.\\.)(-?[0-9.]*[0-9])$"
  range <- grepl("^\\[", cells)
  first <- suppressWarnings(as.numeric(ifelse(range, sub(pattern, "\\1", bare), bare)))
  last <- suppressWarnings(as.numeric(ifelse(range, sub(pattern, "\\3", bare), bare)))
  first <- ifelse(below, pmin(named, lowest, na.rm = TRUE), ifelse(above, named, first))
  last <- ifelse(above, pmax(named, highest, na.rm = TRUE), ifelse(below, named, last))
  first <- ifelse(cells %in% "*", lowest, first)
  last <- ifelse(cells %in% "*", highest, last)
  share <- pmax(pmin(last, high) - pmax(first, low) + 1, 0) / (last - first + 1)
  ifelse(is.na(share), 0, share)
}

# People expected to match: `people` is TRUE or FALSE, or a share, for every person; `values` are values, all if NULL.
count_people <- function(release, people = TRUE, values = NULL) {
  share <- rep_len(as.numeric(people), nrow(release$people))
  weights <- release$weights
  chosen <- if (is.null(values)) rep(TRUE, nrow(weights)) else weights$value %in% values
  sum(weights$weight[chosen] * share[weights$person[chosen]])
}
"""


def r_script(schema: Schema) -> str:
    """The script for releases of a schema."""
    assert schema.sensitive is not None
    # A text of JSON is one of R: both escape quotes, backslashes and control characters alike.
    return _TEXT.replace("@SENSITIVE@", json.dumps(schema.sensitive.name, ensure_ascii=False))
