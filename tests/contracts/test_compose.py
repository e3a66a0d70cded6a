"""compose.yaml opens nothing to the network and has no password of its own."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "compose.yaml").read_text()
SERVICES = yaml.safe_load(TEXT)["services"]


def test_every_service_has_a_pinned_image_and_a_health_check():
    bases = [service["image"] for service in SERVICES.values() if "build" not in service]
    bases += re.findall(r"^ *FROM (\S+)$", TEXT, re.MULTILINE)
    assert len(bases) == len(SERVICES)
    for image in bases:
        assert re.fullmatch(r"[\w./-]+:\d[\w.-]*", image), image
    assert all("test" in service["healthcheck"] for service in SERVICES.values())


def test_only_the_server_has_a_port_and_only_on_this_machine_unless_told_otherwise():
    ports = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert ports == {"server": ["${TRACKING_ADDRESS:-127.0.0.1}:5000:5000"]}


def test_nothing_starts_without_a_password():
    assert re.match(r"\$\{TRACKING_PASSWORD:\?.+\}$", SERVICES["database"]["environment"]["POSTGRES_PASSWORD"])
    secrets = {
        name: value
        for service in SERVICES.values()
        for name, value in service["environment"].items()
        if re.search("PASSWORD|SECRET|KEY|URI", name) and value is not None
    }
    assert len(secrets) == 2
    assert all("${TRACKING_PASSWORD" in value for value in secrets.values())


def test_server_and_clients_have_the_same_mlflow():
    assert "pip install --no-cache-dir --constraint /constraints.txt mlflow" in TEXT
    assert re.search(r"^mlflow==", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert re.search(r"^psycopg-binary==", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
