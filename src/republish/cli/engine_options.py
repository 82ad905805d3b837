"""`--engine`: where the work runs."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from republish.cli.options import option
from republish.errors import PolicyError

if TYPE_CHECKING:
    from republish.parts import Engine

LOCAL = "local[*]"


@dataclass(frozen=True)
class EngineOptions:
    """Where the work runs, and in parts of which size."""

    engine: str | None = option(None, "Where the work runs: spark. Without it: in this process.")
    master: str = option(LOCAL, "Master of the Spark cluster, such as spark://host:7077 or yarn.")
    part_rows: int | None = option(
        None, "With --engine spark: rows of a part, which is the work of one task."
    )


@contextmanager
def engine_of(options: EngineOptions) -> Iterator[Engine | None]:
    """The engine of that name, `None` for this process; a Spark session ends with the block.

    Raises:
        PolicyError: there is no such engine, or what it needs is not installed.
    """
    part_rows = options.part_rows
    if options.engine is None:
        if options.master != LOCAL or part_rows is not None:
            raise PolicyError(
                "--master and --part-rows are for --engine spark; give that too, or leave them out"
            )
        yield None
        return
    if options.engine != "spark":
        raise PolicyError("--engine must be spark, or left out for this process")
    from republish.parts import Spark
    from republish.parts.engine import PART_ROWS

    try:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ModuleNotFoundError:
        raise PolicyError(
            "--engine spark needs PySpark; install it with: pip install 'republish[spark]'"
        ) from None
    if not shutil.which("java") and not os.environ.get("JAVA_HOME"):
        raise PolicyError("--engine spark needs Java 17 or newer on this machine, and found none; install it")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(options.master).appName("republish")
    try:
        session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
    except (PySparkException, Py4JError, OSError, ValueError) as problem:
        raise PolicyError(
            f"no Spark session could be had from the master ({type(problem).__name__}); see that --master is right and "
            "the cluster runs. Nothing was written"
        ) from None
    try:
        yield Spark(session, PART_ROWS if part_rows is None else part_rows)
    finally:
        session.stop()
