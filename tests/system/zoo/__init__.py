"""Programs that play legally and attack: one attack each. `attacker.py` plays for them, `test_zoo.py` runs them."""
