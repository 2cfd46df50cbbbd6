"""The table of nodes, as the server's operator writes it."""

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from flwr.app import MetricRecord
from flwr.supercore.primitives.asymmetric import public_key_to_bytes

from firecv.errors import DataError, FirecvError
from firecv.federated.flower.node_table import Place, Said, read_node_table, said_of

KEYS = [ec.generate_private_key(ec.SECP384R1()).public_key() for _ in range(2)]
LINES = [key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode() for key in KEYS]
NODE = '[[node]]\nkey = "{}"\npartition = {}\nmax-samples = {}\n'


def written(path, text):
    file = path / "nodes.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_keys_are_those_that_flower_hands_out(tmp_path):
    file = written(
        tmp_path, NODE.format(LINES[0], 1, 50) + NODE.format(LINES[1] + " me@site", 0, 7)
    )
    assert read_node_table(str(file)) == {
        public_key_to_bytes(KEYS[0]): Place(1, 50),
        public_key_to_bytes(KEYS[1]): Place(0, 7),
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", r"holds \[\]; expected one \[\[node\]\]"),
        ("node = 3", r"expected one \[\[node\]\]"),
        ("node = [3]", r"node 1 of .* has \[\]; expected key, partition, max-samples"),
        (NODE.format(LINES[0], 0, 5) + "[other]", "and nothing else"),
        (NODE.format(LINES[0], 0, 5) + "samples = 3", "expected key, partition, max-samples"),
        (NODE.format("ssh-rsa nonsense", 0, 5), "such as that in node-0.pub"),
        (NODE.format(LINES[0], 0, 0), "one from 1 on"),
        (NODE.format(LINES[0], 0, "true"), "one from 1 on"),
        (NODE.format(LINES[0], 0, 1e3), "one from 1 on"),
        (NODE.format(LINES[0], 1, 5), r"partitions \[1\]; expected each from 0 to 0 once"),
        (NODE.format(LINES[0], 0, 5) + NODE.format(LINES[1], 0, 5), r"partitions \[0, 0\]"),
        (NODE.format(LINES[0], 0, 5) + NODE.format(LINES[0], 1, 5), "key of another node"),
        ("[[node", "is no TOML"),
    ],
)
def test_a_table_that_is_none_says_what_is_wrong(text, words, tmp_path):
    with pytest.raises(FirecvError, match=words):
        read_node_table(written(tmp_path, text))


def test_a_table_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match="cannot read the node table .*nodes.toml"):
        read_node_table(tmp_path / "nodes.toml")


def test_what_is_no_whole_number_is_not_said():
    assert said_of(MetricRecord()) == Said(-1, -1, -1, -1)
    said = {"partition": 1.0, "n-partitions": [2], "n-samples": 3, "is-tested": 1}
    assert said_of(MetricRecord(said)) == Said(-1, -1, 3, 1)
