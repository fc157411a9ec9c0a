"""What outsiders see and rely on, as it was and as it has to stay: the contract.

- `test_api.py`: every operation of the REST API with its fields, as the schema tells them
  (`kept/api.txt`) and as they are answered (`kept/answers.txt`).
- `test_commands.py`: every management command with its options (`kept/commands.txt`).
- `test_said.py`: what the commands print and write, on real data and on the demo (transcripts),
  and the demo's release byte for byte (`kept/release.txt`).
- `test_routes.py`: every path, method and role with its status (`kept/routes.txt`);
  `tests/test_routes.py` asks the paths themselves.
- `tests/test_blind_walk.py` (what nobody may know yet) and `tests/e2e` (the screens, as they are
  worked with) are part of it and stand where they were.

`python -m tests.contract --write` brings `kept/` up to date; `kept.py` says what it may not.
"""
