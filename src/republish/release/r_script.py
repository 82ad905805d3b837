"""The script `read_release.R`, which lies beside a release: base R reads its tables, one or two, and counts."""

from __future__ import annotations

import json

from republish.schema import Schema

R_SCRIPT = "read_release.R"
_TEXT = r"""# Reads a release in two tables, or in one, with base R.
#
#   source("read_release.R")
#   release <- read_release(".")
#   head(release$people)                        # one line a person; NA where a value is missing
#   head(release$weights)                       # line in people, value, weight: the share of her batch that has it
#   count_people(release, values = c("a"))      # people expected to have one of these values
#   count_people(release, inside(release$people$age, 40, 50), c("a"))
#   release$people$age_mid <- midpoints(release$people$age)
#   release$people$age_width <- widths(release$people$age)
#
# Weights of one person add up to 1. A person without a batch has each value with its share of the whole release.
# Who has which value is not said; numbers of groups and batches mean nothing in another release.
# In one table a row has its own value, and the share of its group that is no counterfeit as weight.

read_release <- function(folder = ".") {
  sensitive <- @SENSITIVE@
  two <- file.exists(file.path(folder, "people.csv"))
  people <- .read_text(folder, if (two) "people.csv" else "table.csv")
  if (two) {
    people$batch <- as.integer(people$batch)
    values <- .read_text(folder, "values.csv")
    values$batch <- as.integer(values$batch)
    values$count <- as.numeric(values$count)
    weights <- .by_batch(people, values, sensitive)
  } else {
    people$group <- as.integer(people$group)
    values <- NULL
    weights <- .by_row(people, sensitive, folder)
  }
  list(sensitive = sensitive, people = people, values = values, weights = weights)
}

.read_text <- function(folder, name) {
  read.csv(file.path(folder, name), check.names = FALSE, stringsAsFactors = FALSE,
           na.strings = "", colClasses = "character", encoding = "UTF-8")
}

.by_batch <- function(people, values, sensitive) {
  total <- tapply(values$count, values$batch, sum)
  shares <- data.frame(batch = values$batch, value = values[[sensitive]],
                       weight = values$count / as.numeric(total[as.character(values$batch)]),
                       stringsAsFactors = FALSE)
  person <- seq_len(nrow(people))
  known <- data.frame(person = person, batch = people$batch)[!is.na(people$batch), ]
  weights <- merge(known, shares, by = "batch")[, c("person", "value", "weight")]
  alone <- person[is.na(people$batch)]
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
  weights
}

.by_row <- function(people, sensitive, folder) {
  rows <- tabulate(people$group)
  real <- rep(1, length(rows))
  if (file.exists(file.path(folder, "counterfeits.csv"))) {
    held <- .read_text(folder, "counterfeits.csv")
    at <- as.integer(held$group)
    real[at] <- 1 - as.numeric(held$count) / rows[at]
  }
  value <- if (is.null(sensitive)) rep(NA_character_, nrow(people)) else people[[sensitive]]
  data.frame(person = seq_along(people$group), value = value, weight = real[people$group],
             stringsAsFactors = FALSE)
}

# The ends of every cell of numbers, or of days: "45", "[40-49]", "[-5..5]", "[2024-01-05..2024-02-01]". An end is NA
# where a cell is empty, "*", or open on that side: "<=23", ">=61". Of "(1.71-2.5]" and ">1.71" the number is out.
.ends <- function(cells) {
  days <- any(grepl("[0-9]{4}-[0-9]{2}-[0-9]{2}", cells))
  one <- if (days) "([+-]?[0-9]{4,}-[0-9]{2}-[0-9]{2})" else "(-?[0-9]+(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
  end <- function(side, open) {
    range <- paste0("^[\\[(]", one, "(?:-|\\.\\.)", one, "[\\])]$")
    text <- ifelse(grepl(range, cells, perl = TRUE), sub(range, side, cells, perl = TRUE), sub(open, "", cells))
    text[!grepl(paste0("^", one, "$"), text, perl = TRUE)] <- NA
    if (days) as.Date(text) else as.numeric(text)
  }
  list(low = end("\\1", "^>=?"), high = end("\\2", "^<=?"))
}

# How far the ends of every cell of numbers or days are apart, and the middle between them; NA where one is not said.
widths <- function(cells) {
  ends <- .ends(cells)
  as.numeric(ends$high - ends$low)
}

midpoints <- function(cells) {
  low <- .ends(cells)$low
  half <- widths(cells) / 2
  low + if (inherits(low, "Date")) floor(half) else half
}

# The share of every cell of whole numbers that lies from low to high: "45", "[40-49]", "[-5..5]".
# A cell "<=23" or ">=61" is open; it is taken to begin at `lowest` or to end at `highest`, where you know these, and
# else for the number that it names. A cell "*" counts only where you know both.
inside <- function(cells, low, high, lowest = NA, highest = NA) {
  below <- grepl("^<", cells)
  above <- grepl("^>", cells)
  named <- suppressWarnings(as.numeric(sub("^[<>]=?", "", cells)))
  bare <- gsub("^[[(]|[])]$", "", cells)
  pattern <- "^(-?[0-9.]*[0-9])(-|\\.\\.)(-?[0-9.]*[0-9])$"
  range <- grepl("^[[(]", cells)
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
    return _TEXT.replace("@SENSITIVE@", _quoted(schema.sensitive.name) if schema.sensitive else "NULL")


def _quoted(text: str) -> str:
    """A text of R in ASCII, which reads alike in every locale: that of JSON, but for signs beyond it."""
    plain = json.dumps(text, ensure_ascii=False)
    return "".join(sign if sign.isascii() else f"\\U{ord(sign):08x}" for sign in plain)
