# engine: stigmergy size=2 --gogui
# What GoGui 1.6.0 itself sends to a ruler while a person plays a whole game: it replays the game after each move.
# Questions that it repeats in the same position are left out.
list_commands
#? [(.+\n)*gogui-rules_legal_moves(\n.+)*]
gogui-rules_game_id
#? [Stigmergy]
gogui-rules_board_size
#? [3 hex]
gogui-rules_board_gfx
#? [TEXT Komi: no bid yet, black to bid]
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
#? [A2 A3 B1 B2 B3 C1 C2 pass]
gogui-rules_board_gfx
#? [TEXT Komi: no bid yet, black to bid]
gogui-rules_game_id
#? [Stigmergy]
clear_board
#? []
play B C2
#? []
gogui-rules_board
#? [\.\.\?\n\.\.\.\n\?\.\.]
gogui-rules_board_size
#? [3 hex]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B C2
#? []
gogui-rules_board_gfx
#? [TEXT Komi: 2, white to choose a side]
gogui-rules_legal_moves
#? [A2 A3 B1 B2 B3 C1 C2 pass]
clear_board
#? []
play B C2
#? []
play W A2
#? []
gogui-rules_board
#? [\.\.\?\n\.\.\.\n\?\.\.]
gogui-rules_board_size
#? [3 hex]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [black]
clear_board
#? []
play B C2
#? []
play W A2
#? []
gogui-rules_board_gfx
#? [TEXT Komi: 2, The sides were swapped, black to move]
gogui-rules_legal_moves
#? [A2 A3 B1 B2 B3 C1 C2]
clear_board
#? []
play B C2
#? []
play W A2
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
play B C2
#? []
play W A2
#? []
play B B2
#? []
gogui-rules_board_gfx
#? [CIRCLE B2\nTEXT Komi: 2, white to move]
gogui-rules_legal_moves
#? [A2 A3 B1 B3 C1 C2]
clear_board
#? []
play B C2
#? []
play W A2
#? []
play B B2
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
play B C2
#? []
play W A2
#? []
play B B2
#? []
play W A3
#? []
gogui-rules_board_gfx
#? [CIRCLE A3\nTEXT Komi: 2, black to move]
gogui-rules_legal_moves
#? [A2 B1 B3 C1 C2]
clear_board
#? []
play B C2
#? []
play W A2
#? []
play B B2
#? []
play W A3
#? []
play B B3
#? []
gogui-rules_board
#? [OX\?\n\.X\.\n\?\.\.]
gogui-rules_board_size
#? [3 hex]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B C2
#? []
play W A2
#? []
play B B2
#? []
play W A3
#? []
play B B3
#? []
gogui-rules_board_gfx
#? [BLACK A3 C2\nCIRCLE B3\nTEXT Komi: 2, white to move]
gogui-rules_legal_moves
#? [A2 B1 C1]
clear_board
#? []
play B C2
#? []
play W A2
#? []
play B B2
#? []
play W A3
#? []
play B B3
#? []
play W C1
#? []
gogui-rules_board
#? [OX\?\n\.X\.\n\?\.O]
gogui-rules_board_size
#? [3 hex]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [black]
clear_board
#? []
play B C2
#? []
play W A2
#? []
play B B2
#? []
play W A3
#? []
play B B3
#? []
play W C1
#? []
gogui-rules_board_gfx
#? [BLACK A3 C2\nCIRCLE C1\nTEXT Komi: 2, black to move]
gogui-rules_legal_moves
#? [A2 A3 B1 C2]
clear_board
#? []
play B C2
#? []
play W A2
#? []
play B B2
#? []
play W A3
#? []
play B B3
#? []
play W C1
#? []
play B B1
#? []
gogui-rules_board
#? [OX\?\n\.X\.\n\?XO]
gogui-rules_board_size
#? [3 hex]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B C2
#? []
play W A2
#? []
play B B2
#? []
play W A3
#? []
play B B3
#? []
play W C1
#? []
play B B1
#? []
gogui-rules_board_gfx
#? [BLACK A3 A2 C2 C1\nCIRCLE B1\nTEXT Komi: 2, white to move]
gogui-rules_legal_moves
#? [pass]
clear_board
#? []
play B C2
#? []
play W A2
#? []
play B B2
#? []
play W A3
#? []
play B B3
#? []
play W C1
#? []
play B B1
#? []
play W PASS
#? []
gogui-rules_board
#? [OX\?\n\.X\.\n\?XO]
gogui-rules_board_size
#? [3 hex]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [black]
clear_board
#? []
play B C2
#? []
play W A2
#? []
play B B2
#? []
play W A3
#? []
play B B3
#? []
play W C1
#? []
play B B1
#? []
play W PASS
#? []
gogui-rules_board_gfx
#? [BLACK A3 A2 C2 C1\nTEXT Komi: 2, black to move]
gogui-rules_legal_moves
#? [A2 A3 C1 C2 pass]
clear_board
#? []
play B C2
#? []
play W A2
#? []
play B B2
#? []
play W A3
#? []
play B B3
#? []
play W C1
#? []
play B B1
#? []
play W PASS
#? []
play B PASS
#? []
gogui-rules_board
#? [OX\?\n\.X\.\n\?XO]
gogui-rules_board_size
#? [3 hex]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B C2
#? []
play W A2
#? []
play B B2
#? []
play W A3
#? []
play B B3
#? []
play W C1
#? []
play B B1
#? []
play W PASS
#? []
play B PASS
#? []
gogui-rules_board_gfx
#? [BLACK A3 A2 C2 C1\nTEXT Komi: 2, Game over: B\+1]
gogui-rules_legal_moves
#? []
clear_board
#? []
play B C2
#? []
play W A2
#? []
play B B2
#? []
play W A3
#? []
play B B3
#? []
play W C1
#? []
play B B1
#? []
play W PASS
#? []
play B PASS
#? []
play W PASS
#? [\? illegal move: the game is over]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B C2
#? []
play W A2
#? []
play B B2
#? []
play W A3
#? []
play B B3
#? []
play W C1
#? []
play B B1
#? []
play W PASS
#? []
play B PASS
#? []
play W PASS
#? [\? illegal move: the game is over]
gogui-rules_board_gfx
#? [BLACK A3 A2 C2 C1\nTEXT Komi: 2, Game over: B\+1]
gogui-rules_legal_moves
#? []
