"""Secure aggregation: the server learns the weighted sum of what clients upload, and no upload.

Bonawitz, Ivanov, Kreuter, Marcedone, McMahan, Patel, Ramage, Segal, Seth: Practical Secure
Aggregation for Privacy-Preserving Machine Learning, CCS 2017. Every two clients agree on a mask
that one adds and the other subtracts, and each adds one of its own; the masks cancel in the sum, or
are found again from shares that clients hold of each other's secrets, so that clients may drop out.

*Symbols*: t is what `Secure.needed` returns, U1 to U4 are the clients left after each of the
stages ("keys", "shares", "masked", "unmask"), R is 2 to the power of `bits`, b_u a client's "seed",
s_u^SK and c_u^SK its keys "mask" and "cipher".

Protects from a server that keeps to the protocol and is curious, also together with fewer than t
clients: they learn the sum over the clients heard, at least t of them, and what follows from it.

Does not protect from:

- a server that deviates. Keys are advertised through it without certificates, so that it could
  invent clients; Flower's node authentication vouches for nodes to the server, not for these keys
  to other clients. Clients refuse what shows: both secrets of one client, fewer clients than t, a
  second answer.
- what is sent in the clear: sketches of the rules that weigh clients (noised with `Private`), the
  number of samples, and scores on test data of clients' own.
- shares of clients that leave one of them nearly alone in the sum; weighing can do so, and then
  there is a notice.
- clients that lie: nobody sees a single upload, so that screening and robust rules are off.

Departures: uploads are multiplied by the client's share before they are masked; fresh keys in every
round; X25519, ChaCha20 and HKDF-SHA256 of the package `cryptography` and Shamir's sharing over
GF(2^128) of `pycryptodome`, both of which Flower needs as well. Of Flower's own SecAgg+ nothing is
used: it answers to the legacy strategies alone, and draws masks by a generator with a seed of 32
bits.
"""

from firecv.federated.secure.settings import Secure

__all__ = ["Secure"]
