# engine: go size=3 --gogui
# What GoGui 1.6.0 itself sends to a ruler while a person plays a whole game: it replays the game after each move.
# Questions that it repeats in the same position are left out.
list_commands
#? [(.+\n)*gogui-rules_legal_moves(\n.+)*]
gogui-rules_game_id
#? [Go]
gogui-rules_board_size
#? [3]
gogui-rules_board_gfx
#? [TEXT Black has captured 0, White has captured 0, Komi: 7\.5, black to move]
clear_board
#? []
gogui-rules_board
#? [\.\.\.\n\.\.\.\n\.\.\.]
gogui-rules_board_size
#? [3]
gogui-rules_captured_count
#? [0 0]
clear_board
#? []
gogui-rules_side_to_move
#? [black]
clear_board
#? []
gogui-rules_legal_moves
#? [A1 A2 A3 B1 B2 B3 C1 C2 C3 pass]
gogui-rules_board_gfx
#? [TEXT Black has captured 0, White has captured 0, Komi: 7\.5, black to move]
gogui-rules_game_id
#? [Go]
clear_board
#? []
play B B2
#? []
gogui-rules_board
#? [\.\.\.\n\.X\.\n\.\.\.]
gogui-rules_board_size
#? [3]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B B2
#? []
gogui-rules_board_gfx
#? [CIRCLE B2\nTEXT Black has captured 0, White has captured 0, Komi: 7\.5, white to move]
gogui-rules_legal_moves
#? [A1 A2 A3 B1 B3 C1 C2 C3 pass]
clear_board
#? []
play B B2
#? []
play W C3
#? []
gogui-rules_board
#? [\.\.O\n\.X\.\n\.\.\.]
gogui-rules_board_size
#? [3]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [black]
clear_board
#? []
play B B2
#? []
play W C3
#? []
gogui-rules_board_gfx
#? [CIRCLE C3\nTEXT Black has captured 0, White has captured 0, Komi: 7\.5, black to move]
gogui-rules_legal_moves
#? [A1 A2 A3 B1 B3 C1 C2 pass]
clear_board
#? []
play B B2
#? []
play W C3
#? []
play B B1
#? []
gogui-rules_board
#? [\.\.O\n\.X\.\n\.X\.]
gogui-rules_board_size
#? [3]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B B2
#? []
play W C3
#? []
play B B1
#? []
gogui-rules_board_gfx
#? [CIRCLE B1\nTEXT Black has captured 0, White has captured 0, Komi: 7\.5, white to move]
gogui-rules_legal_moves
#? [A1 A2 A3 B3 C1 C2 pass]
clear_board
#? []
play B B2
#? []
play W C3
#? []
play B A1
#? []
gogui-rules_board
#? [\.\.O\n\.X\.\nX\.\.]
gogui-rules_board_size
#? [3]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B B2
#? []
play W C3
#? []
play B A1
#? []
gogui-rules_board_gfx
#? [CIRCLE A1\nTEXT Black has captured 0, White has captured 0, Komi: 7\.5, white to move]
gogui-rules_legal_moves
#? [A2 A3 B1 B3 C1 C2 pass]
clear_board
#? []
play B B2
#? []
play W C3
#? []
play B A1
#? []
play W PASS
#? []
gogui-rules_board
#? [\.\.O\n\.X\.\nX\.\.]
gogui-rules_board_size
#? [3]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [black]
play W PASS
#? []
gogui-rules_board
#? [\.\.O\n\.X\.\nX\.\.]
gogui-rules_board_size
#? [3]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [black]
clear_board
#? []
play B B2
#? []
play W C3
#? []
play B A1
#? []
play W PASS
#? []
gogui-rules_board_gfx
#? [TEXT Black has captured 0, White has captured 0, Komi: 7\.5, black to move]
gogui-rules_legal_moves
#? [A2 A3 B1 B3 C1 C2 pass]
clear_board
#? []
play B B2
#? []
play W C3
#? []
play B A1
#? []
play W PASS
#? []
play B PASS
#? []
gogui-rules_board
#? [\.\.O\n\.X\.\nX\.\.]
gogui-rules_board_size
#? [3]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B B2
#? []
play W C3
#? []
play B A1
#? []
play W PASS
#? []
play B PASS
#? []
gogui-rules_board_gfx
#? [TEXT Black has captured 0, White has captured 0, Komi: 7\.5, Game over: W\+6\.5]
gogui-rules_legal_moves
#? []
