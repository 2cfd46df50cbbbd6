"""Every table and figure of the paper, and a study of where FIRE wins, from declarations."""
