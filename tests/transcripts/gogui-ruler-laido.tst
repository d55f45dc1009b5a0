# engine: laido size=2 --gogui
# What GoGui 1.6.0 itself sends to a ruler while a person plays a whole game: it replays the game after each move.
# Questions that it repeats in the same position are left out.
list_commands
#? [(.+\n)*gogui-rules_legal_moves(\n.+)*]
gogui-rules_game_id
#? [Laido]
gogui-rules_board_size
#? [3 hex]
gogui-rules_board_gfx
#? [TEXT black to move]
clear_board
#? []
gogui-rules_board
#? [\.\.\?\n\.\.\.\n\?\.\.]
gogui-rules_board_size
#? [3 hex]
gogui-rules_captured_count
#? [0 0]
clear_board
#? []
gogui-rules_side_to_move
#? [black]
clear_board
#? []
gogui-rules_legal_moves
#? [A2 A3 B1 B2 B3 C1 C2]
gogui-rules_board_gfx
#? [TEXT black to move]
gogui-rules_game_id
#? [Laido]
clear_board
#? []
play B B2
#? []
gogui-rules_board
#? [\.\.\?\n\.X\.\n\?\.\.]
gogui-rules_board_size
#? [3 hex]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B B2
#? []
gogui-rules_board_gfx
#? [CIRCLE B2\nTEXT white to move]
gogui-rules_legal_moves
#? [A2 A3 B1 B2 B3 C1 C2 pass]
clear_board
#? []
play B B2
#? []
play W B2
#? []
gogui-rules_board
#? [\.\.\?\n\.X\.\n\?\.\.]
gogui-rules_board_size
#? [3 hex]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B B2
#? []
play W B2
#? []
gogui-rules_board_gfx
#? [TEXT The sides were swapped, white to move]
gogui-rules_legal_moves
#? [A2 A3 B1 B3 C1 C2 pass]
clear_board
#? []
play B B2
#? []
play W B2
#? []
play W A3
#? []
gogui-rules_board
#? [O\.\?\n\.X\.\n\?\.\.]
gogui-rules_board_size
#? [3 hex]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [black]
clear_board
#? []
play B B2
#? []
play W B2
#? []
play W A3
#? []
gogui-rules_board_gfx
#? [CIRCLE A3\nTEXT black to move]
gogui-rules_legal_moves
#? [A2 B1 B3 C1 C2 pass]
clear_board
#? []
play B B2
#? []
play W B2
#? []
play W A3
#? []
play B PASS
#? []
gogui-rules_board
#? [O\.\?\n\.X\.\n\?\.\.]
gogui-rules_board_size
#? [3 hex]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B B2
#? []
play W B2
#? []
play W A3
#? []
play B PASS
#? []
gogui-rules_board_gfx
#? [TEXT Black has the half point, white to move]
gogui-rules_legal_moves
#? [A2 B1 B3 C1 C2 pass]
clear_board
#? []
play B B2
#? []
play W B2
#? []
play W C2
#? []
gogui-rules_board
#? [\.\.\?\n\.XO\n\?\.\.]
gogui-rules_board_size
#? [3 hex]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [black]
clear_board
#? []
play B B2
#? []
play W B2
#? []
play W C2
#? []
gogui-rules_board_gfx
#? [CIRCLE C2\nTEXT black to move]
gogui-rules_legal_moves
#? [A2 A3 B1 B3 C1 pass]
clear_board
#? []
play B B2
#? []
play W B2
#? []
play W C2
#? []
play B A2
#? []
gogui-rules_board
#? [\.\.\?\nXXO\n\?\.\.]
gogui-rules_board_size
#? [3 hex]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B B2
#? []
play W B2
#? []
play W C2
#? []
play B A2
#? []
gogui-rules_board_gfx
#? [CIRCLE A2\nTEXT white to move]
gogui-rules_legal_moves
#? [A3 B1 B3 C1 pass]
clear_board
#? []
play B B2
#? []
play W B2
#? []
play W C2
#? []
play B A2
#? []
play W PASS
#? []
gogui-rules_board
#? [\.\.\?\nXXO\n\?\.\.]
gogui-rules_board_size
#? [3 hex]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [black]
clear_board
#? []
play B B2
#? []
play W B2
#? []
play W C2
#? []
play B A2
#? []
play W PASS
#? []
gogui-rules_board_gfx
#? [TEXT White has the half point, black to move]
gogui-rules_legal_moves
#? [A3 B1 B3 C1 pass]
clear_board
#? []
play B B2
#? []
play W B2
#? []
play W C2
#? []
play B A2
#? []
play W PASS
#? []
play B PASS
#? []
gogui-rules_board
#? [\.\.\?\nXXO\n\?\.\.]
gogui-rules_board_size
#? [3 hex]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B B2
#? []
play W B2
#? []
play W C2
#? []
play B A2
#? []
play W PASS
#? []
play B PASS
#? []
gogui-rules_board_gfx
#? [TEXT White has the half point, Game over: W\+1]
gogui-rules_legal_moves
#? []
