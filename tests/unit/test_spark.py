"""Batch scoring of a table on many machines: Spark runs the registered model, here in local mode."""

import json
import shutil
import subprocess
import sys

import pytest

import twicetold
from twicetold import layout
from twicetold_lab.tracking import logged_model

PROGRAM = """
import json, sys
from mlflow.pyfunc import spark_udf
from pyspark.sql import SparkSession
from pyspark.sql.functions import struct

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
verdict = "score double, probability double, duplicate boolean"
judge = spark_udf(spark, sys.argv[1], env_manager="local", result_type=verdict)
table = spark.createDataFrame(json.loads(sys.argv[2]), "left string, right string")
rows = table.withColumn("verdict", judge(struct("left", "right"))).select("left", "right", "verdict.*").collect()
print("rows", json.dumps([row.asDict() for row in rows]))
"""


@pytest.mark.slow
def test_spark_scores_a_table_as_the_library_does(run, tmp_path):
    pytest.importorskip("pyspark", reason="needs Spark: pip install pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    folder = run("static")
    logged_model.save(folder / layout.MODEL, tmp_path / "saved", input_example={"left": ["a"], "right": ["b"]})
    pairs = [["bank rate cut", "bank rate film"], ["drug trial", "vote game"]]
    line = [sys.executable, "-c", PROGRAM, str(tmp_path / "saved"), json.dumps(pairs)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=600, cwd=tmp_path)
    found = [line.removeprefix("rows ") for line in done.stdout.splitlines() if line.startswith("rows ")]
    assert found, done.stderr
    model = twicetold.load(folder)
    left, right = zip(*pairs)
    scores = [row["score"] for row in json.loads(found[0])]
    assert scores == pytest.approx(model.similarity(left, right).tolist(), abs=1e-6)
    assert [row["duplicate"] for row in json.loads(found[0])] == model.predict(left, right).tolist()
