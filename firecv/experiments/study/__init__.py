"""The study of where FIRE wins, as declarations."""
