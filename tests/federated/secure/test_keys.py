"""Keys, shares of secrets and sealed letters."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.errors import FederatedError
from firecv.federated.secure.keys import (
    agreed,
    joined,
    new_pair,
    new_secret,
    opened,
    pair_of,
    sealed,
    split,
)


def test_every_two_agree_and_no_two_pairs_agree_on_the_same():
    pairs = [new_pair() for _ in range(5)]
    found = {}
    for i, j in combinations(range(5), 2):
        found[i, j] = agreed(pairs[i].private, pairs[j].public, "mask 1")
        assert found[i, j] == agreed(pairs[j].private, pairs[i].public, "mask 1")
        assert found[i, j] != agreed(pairs[i].private, pairs[j].public, "mask 2")
    assert len(set(found.values())) == len(found)
    assert all(pair_of(pair.private) == pair for pair in pairs)


@pytest.mark.parametrize("public", [bytes(32), b"short"], ids=["of low order", "short"])
def test_a_public_key_that_is_none_is_named(public):
    with pytest.raises(FederatedError, match="public key is none"):
        agreed(new_pair().private, public, "mask 1")


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 12).flatmap(lambda n: st.tuples(st.integers(2, n), st.just(n))), st.randoms())
def test_any_as_many_as_needed_give_a_secret_back_and_fewer_do_not(numbers, random):
    needed, n = numbers
    secret = new_secret()
    shares = split(secret, needed, n)
    chosen = random.sample(range(n), needed)
    assert joined({place: shares[place] for place in chosen}) == secret
    assert joined({place: shares[place] for place in chosen[1:]}) != secret
    assert secret not in shares and len(set(shares)) == n


def test_what_is_sealed_opens_for_whom_it_is_meant_and_unchanged_alone():
    key, other = new_secret(), new_secret()
    data = sealed(key, b"a share", "0 to 1")
    assert opened(key, data, "0 to 1") == b"a share" and b"a share" not in data
    assert sealed(key, b"a share", "0 to 1") != data
    changed = data[:-1] + bytes([data[-1] ^ 1])
    for wrong in ((other, data, "0 to 1"), (key, data, "1 to 0"), (key, changed, "0 to 1")):
        with pytest.raises(FederatedError, match="cannot be opened"):
            opened(*wrong)
    with pytest.raises(FederatedError, match="cannot be opened"):
        opened(key, b"", "0 to 1")
