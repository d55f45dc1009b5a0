# engine: yugo size=2 --gogui
# What GoGui 1.6.0 itself sends to a ruler while a person plays a whole game: it replays the game after each move.
# Questions that it repeats in the same position are left out.
list_commands
#? [(.+\n)*gogui-rules_legal_moves(\n.+)*]
gogui-rules_game_id
#? [Yugo]
gogui-rules_board_size
#? [2]
gogui-rules_board_gfx
#? [TEXT Black has captured 0, White has captured 0, The button is free, Komi: 7, black to move]
clear_board
#? []
gogui-rules_board
#? [\.\.\n\.\.]
gogui-rules_board_size
#? [2]
gogui-rules_captured_count
#? [0 0]
clear_board
#? []
gogui-rules_side_to_move
#? [black]
clear_board
#? []
gogui-rules_legal_moves
#? [A1 A2 B1 B2 pass]
gogui-rules_board_gfx
#? [TEXT Black has captured 0, White has captured 0, The button is free, Komi: 7, black to move]
gogui-rules_game_id
#? [Yugo]
clear_board
#? []
play B A1
#? []
gogui-rules_board
#? [\.\.\nX\.]
gogui-rules_board_size
#? [2]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B A1
#? []
gogui-rules_board_gfx
#? [CIRCLE A1\nTEXT Black has captured 0, White has captured 0, The button is free, Komi: 7, white to move]
gogui-rules_legal_moves
#? [A2 B1 B2 pass]
clear_board
#? []
play B A1
#? []
play W B2
#? []
gogui-rules_board
#? [\.O\nX\.]
gogui-rules_board_size
#? [2]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [black]
clear_board
#? []
play B A1
#? []
play W B2
#? []
gogui-rules_board_gfx
#? [CIRCLE B2\nTEXT Black has captured 0, White has captured 0, The button is free, Komi: 7, black to move]
gogui-rules_legal_moves
#? [A2 B1 pass]
clear_board
#? []
play B A1
#? []
play W B2
#? []
play B PASS
#? []
gogui-rules_board
#? [\.O\nX\.]
gogui-rules_board_size
#? [2]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B A1
#? []
play W B2
#? []
play B PASS
#? []
gogui-rules_board_gfx
#? [TEXT Black has captured 0, White has captured 0, Black has the button, Komi: 7, white to move]
gogui-rules_legal_moves
#? [A2 B1 pass]
clear_board
#? []
play B A1
#? []
play W B2
#? []
play B PASS
#? []
play W A2
#? []
gogui-rules_board
#? [OO\nX\.]
gogui-rules_board_size
#? [2]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [black]
clear_board
#? []
play B A1
#? []
play W B2
#? []
play B PASS
#? []
play W A2
#? []
gogui-rules_board_gfx
#? [CIRCLE A2\nTEXT Black has captured 0, White has captured 0, Black has the button, Komi: 7, black to move]
gogui-rules_legal_moves
#? [B1 pass]
clear_board
#? []
play B A1
#? []
play W B2
#? []
play B PASS
#? []
play W A2
#? []
play B B1
#? []
gogui-rules_board
#? [\.\.\nXX]
gogui-rules_board_size
#? [2]
gogui-rules_captured_count
#? [2 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B A1
#? []
play W B2
#? []
play B PASS
#? []
play W A2
#? []
play B B1
#? []
gogui-rules_board_gfx
#? [SQUARE B1\nCIRCLE B1\nTEXT Black has captured 2, White has captured 0, Black has the button, Komi: 7, white to move]
gogui-rules_legal_moves
#? [A2 B2 pass]
clear_board
#? []
play B A1
#? []
play W B2
#? []
play B PASS
#? []
play W A2
#? []
play B B1
#? []
play W PASS
#? []
gogui-rules_board
#? [\.\.\nXX]
gogui-rules_board_size
#? [2]
gogui-rules_captured_count
#? [2 0]
gogui-rules_side_to_move
#? [black]
clear_board
#? []
play B A1
#? []
play W B2
#? []
play B PASS
#? []
play W A2
#? []
play B B1
#? []
play W PASS
#? []
gogui-rules_board_gfx
#? [SQUARE B1\nTEXT Black has captured 2, White has captured 0, Black has the button, Komi: 7, black to move]
gogui-rules_legal_moves
#? [A2 B2 pass]
clear_board
#? []
play B A1
#? []
play W B2
#? []
play B PASS
#? []
play W A2
#? []
play B B1
#? []
play W PASS
#? []
play B PASS
#? []
gogui-rules_board
#? [\.\.\nXX]
gogui-rules_board_size
#? [2]
gogui-rules_captured_count
#? [2 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B A1
#? []
play W B2
#? []
play B PASS
#? []
play W A2
#? []
play B B1
#? []
play W PASS
#? []
play B PASS
#? []
gogui-rules_board_gfx
#? [SQUARE B1\nTEXT Black has captured 2, White has captured 0, Black has the button, Komi: 7, Game over: W\+2\.5]
gogui-rules_legal_moves
#? []
