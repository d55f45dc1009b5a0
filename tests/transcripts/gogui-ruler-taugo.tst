# engine: taugo size=6 --gogui
# What GoGui 1.6.0 itself sends to a ruler while a person plays a whole game: it replays the game after each move.
# Questions that it repeats in the same position are left out.
list_commands
#? [(.+\n)*gogui-rules_legal_moves(\n.+)*]
gogui-rules_game_id
#? [Taugo]
gogui-rules_board_size
#? [6]
gogui-rules_board_gfx
#? [TEXT Black has 0 strings, White has 0 strings, black to move]
clear_board
#? []
gogui-rules_board
#? [[?]\.\.\.\.\?\n\.\.\.\.\.\.\n\.\.\.\.\.\.\n\.\.\.\.\.\.\n\.\.\.\.\.\.\n\?\.\.\.\.\?]
gogui-rules_board_size
#? [6]
gogui-rules_captured_count
#? [0 0]
clear_board
#? []
gogui-rules_side_to_move
#? [black]
clear_board
#? []
gogui-rules_legal_moves
#? [B2 B3 B4 B5 C2 C3 C4 C5 D2 D3 D4 D5 E2 E3 E4 E5]
gogui-rules_board_gfx
#? [TEXT Black has 0 strings, White has 0 strings, black to move]
gogui-rules_game_id
#? [Taugo]
clear_board
#? []
play B D5
#? []
gogui-rules_board
#? [[?]\.\.\.\.\?\n\.\.\.X\.\.\n\.\.\.\.\.\.\n\.\.\.\.\.\.\n\.\.\.\.\.\.\n\?\.\.\.\.\?]
gogui-rules_board_size
#? [6]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [black]
clear_board
#? []
play B D5
#? []
gogui-rules_board_gfx
#? [CIRCLE D5\nTEXT Black has 0 strings, White has 0 strings, Entered so far: D5; pass ends the turn, black to move]
gogui-rules_legal_moves
#? [pass]
clear_board
#? []
play B D5
#? []
play B PASS
#? []
gogui-rules_board
#? [[?]\.\.\.\.\?\n\.\.\.X\.\.\n\.\.\.\.\.\.\n\.\.\.\.\.\.\n\.\.\.\.\.\.\n\?\.\.\.\.\?]
gogui-rules_board_size
#? [6]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B D5
#? []
play B PASS
#? []
gogui-rules_board_gfx
#? [CIRCLE D5\nTEXT Black has 1 string, White has 0 strings, white to move]
gogui-rules_legal_moves
#? [B2 B3 B4 B5 C2 C3 C4 C5 D2 D3 D4 D5 E2 E3 E4 E5 pass]
clear_board
#? []
play B D5
#? []
play B PASS
#? []
play W D5
#? []
gogui-rules_board
#? [[?]\.\.\.\.\?\n\.\.\.X\.\.\n\.\.\.\.\.\.\n\.\.\.\.\.\.\n\.\.\.\.\.\.\n\?\.\.\.\.\?]
gogui-rules_board_size
#? [6]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B D5
#? []
play B PASS
#? []
play W D5
#? []
gogui-rules_board_gfx
#? [TEXT Black has 1 string, White has 0 strings, The sides were swapped, white to move]
gogui-rules_legal_moves
#? [B2 B3 B4 B5 C2 C3 C4 C5 D2 D3 D4 E2 E3 E4 E5 pass]
clear_board
#? []
play B D5
#? []
play B PASS
#? []
play W D5
#? []
play W B2
#? []
gogui-rules_board
#? [[?]\.\.\.\.\?\n\.\.\.X\.\.\n\.\.\.\.\.\.\n\.\.\.\.\.\.\n\.O\.\.\.\.\n\?\.\.\.\.\?]
gogui-rules_board_size
#? [6]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B D5
#? []
play B PASS
#? []
play W D5
#? []
play W B2
#? []
gogui-rules_board_gfx
#? [CIRCLE B2\nTEXT Black has 1 string, White has 0 strings, Entered so far: B2; pass ends the turn, The sides were swapped, white to move]
gogui-rules_legal_moves
#? [pass]
clear_board
#? []
play B D5
#? []
play B PASS
#? []
play W D5
#? []
play W B2
#? []
play W PASS
#? []
gogui-rules_board
#? [[?]\.\.\.\.\?\n\.\.\.X\.\.\n\.\.\.\.\.\.\n\.\.\.\.\.\.\n\.O\.\.\.\.\n\?\.\.\.\.\?]
gogui-rules_board_size
#? [6]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [black]
clear_board
#? []
play B D5
#? []
play B PASS
#? []
play W D5
#? []
play W B2
#? []
play W PASS
#? []
gogui-rules_board_gfx
#? [CIRCLE B2\nTEXT Black has 1 string, White has 1 string, black to move]
gogui-rules_legal_moves
#? [B3 B4 B5 C2 C3 C4 C5 D2 D3 D4 E2 E3 E4 E5 pass]
clear_board
#? []
play B D5
#? []
play B PASS
#? []
play W D5
#? []
play W B2
#? []
play W PASS
#? []
play B D4
#? []
gogui-rules_board
#? [[?]\.\.\.\.\?\n\.\.\.X\.\.\n\.\.\.X\.\.\n\.\.\.\.\.\.\n\.O\.\.\.\.\n\?\.\.\.\.\?]
gogui-rules_board_size
#? [6]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [black]
clear_board
#? []
play B D5
#? []
play B PASS
#? []
play W D5
#? []
play W B2
#? []
play W PASS
#? []
play B D4
#? []
gogui-rules_board_gfx
#? [CIRCLE D4\nTEXT Black has 1 string, White has 1 string, Entered so far: D4; pass ends the turn, black to move]
gogui-rules_legal_moves
#? [D3 pass]
clear_board
#? []
play B D5
#? []
play B PASS
#? []
play W D5
#? []
play W B2
#? []
play W PASS
#? []
play B D4
#? []
play B D3
#? []
gogui-rules_board
#? [[?]\.\.\.\.\?\n\.\.\.X\.\.\n\.\.\.X\.\.\n\.\.\.X\.\.\n\.O\.\.\.\.\n\?\.\.\.\.\?]
gogui-rules_board_size
#? [6]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [black]
clear_board
#? []
play B D5
#? []
play B PASS
#? []
play W D5
#? []
play W B2
#? []
play W PASS
#? []
play B D4
#? []
play B D3
#? []
gogui-rules_board_gfx
#? [CIRCLE D4 D3\nTEXT Black has 1 string, White has 1 string, Entered so far: D4 D3; pass ends the turn, black to move]
gogui-rules_legal_moves
#? [D2 pass]
clear_board
#? []
play B D5
#? []
play B PASS
#? []
play W D5
#? []
play W B2
#? []
play W PASS
#? []
play B D4
#? []
play B D3
#? []
play B PASS
#? []
gogui-rules_board
#? [[?]\.\.\.\.\?\n\.\.\.X\.\.\n\.\.\.X\.\.\n\.\.\.X\.\.\n\.O\.\.\.\.\n\?\.\.\.\.\?]
gogui-rules_board_size
#? [6]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B D5
#? []
play B PASS
#? []
play W D5
#? []
play W B2
#? []
play W PASS
#? []
play B D4
#? []
play B D3
#? []
play B PASS
#? []
gogui-rules_board_gfx
#? [CIRCLE D4 D3\nTEXT Black has 1 string, White has 1 string, white to move]
gogui-rules_legal_moves
#? [B3 B4 B5 C2 C3 C4 C5 D2 E2 E3 E4 E5 pass]
clear_board
#? []
play B D5
#? []
play B PASS
#? []
play W D5
#? []
play W B2
#? []
play W PASS
#? []
play B D4
#? []
play B D3
#? []
play B PASS
#? []
play W PASS
#? []
gogui-rules_board
#? [[?]\.\.\.\.\?\n\.\.\.X\.\.\n\.\.\.X\.\.\n\.\.\.X\.\.\n\.O\.\.\.\.\n\?\.\.\.\.\?]
gogui-rules_board_size
#? [6]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [black]
clear_board
#? []
play B D5
#? []
play B PASS
#? []
play W D5
#? []
play W B2
#? []
play W PASS
#? []
play B D4
#? []
play B D3
#? []
play B PASS
#? []
play W PASS
#? []
gogui-rules_board_gfx
#? [TEXT Black has 1 string, White has 1 string, black to move]
gogui-rules_legal_moves
#? [B3 B4 B5 C2 C3 C4 C5 D2 E2 E3 E4 E5 pass]
clear_board
#? []
play B D5
#? []
play B PASS
#? []
play W D5
#? []
play W B2
#? []
play W PASS
#? []
play B D4
#? []
play B D3
#? []
play B PASS
#? []
play W PASS
#? []
play B PASS
#? []
gogui-rules_board
#? [[?]\.\.\.\.\?\n\.\.\.X\.\.\n\.\.\.X\.\.\n\.\.\.X\.\.\n\.O\.\.\.\.\n\?\.\.\.\.\?]
gogui-rules_board_size
#? [6]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B D5
#? []
play B PASS
#? []
play W D5
#? []
play W B2
#? []
play W PASS
#? []
play B D4
#? []
play B D3
#? []
play B PASS
#? []
play W PASS
#? []
play B PASS
#? []
gogui-rules_board_gfx
#? [TEXT Black has 1 string, White has 1 string, Game over: 0]
gogui-rules_legal_moves
#? []
