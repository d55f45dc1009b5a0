#!/usr/bin/env lua
-- A whole bot in one Lua file: it plays any legal move, in every game that an engine knows. It needs no library.
--
--     run      lua bots/examples/legal_bot.lua ggp engine
--     match    ggp match yugo "lua bots/examples/legal_bot.lua" random
--
-- It starts the engine of the command line (without one: ggp engine) and keeps no board of its own: it
-- passes on what it receives, and draws one of the moves that the engine lists. Replace `choose` by something better.

local names = "genmove ggp-games ggp-new known_command list_commands name play protocol_version quit version"
local to, from -- the engine's input and output

-- One of the legal moves: points, but also pass, swap-sides, bid:7 or dead: where the game asks for that.
local function choose(moves)
  return moves[math.random(#moves)]
end

local function words_of(text)
  local words = {}
  for word in text:gmatch("[^ ]+") do words[#words + 1] = word end
  return words
end

-- Start the engine. Lua's popen has one direction: the answers come back through a named pipe. The engine ends when its
-- input does, so it never outlives the bot.
local function start(command)
  local quoted = {}
  for i, word in ipairs(command) do quoted[i] = "'" .. word:gsub("'", "'\\''") .. "'" end
  local name = os.tmpname() -- a name that is free in /tmp, which TMPDIR does not change
  os.remove(name)
  local pipe = (os.getenv("TMPDIR") or "/tmp") .. name:match("/[^/]*$")
  assert(os.execute("mkfifo -m 600 '" .. pipe .. "'"))
  to = assert(io.popen("exec " .. table.concat(quoted, " ") .. " > '" .. pipe .. "'", "w"))
  from = assert(io.open(pipe))
  os.remove(pipe)
end

-- Whether the engine could obey, and the text of its answer, which an empty line ends.
local function ask(...)
  to:write(table.concat({...}, " "), "\n")
  to:flush()
  local lines = {}
  for line in from:lines() do
    if line == "" then
      local mark, text = table.concat(lines, "\n"):match("^(.) ?(.*)$")
      return mark == "=", text
    end
    lines[#lines + 1] = line
  end
  io.stderr:write("the engine ended\n")
  os.exit(1)
end

local function genmove(...)
  local done, text = ask("ggp-legal_moves")
  if not done then return false, text end
  if text == "" then return true, "pass" end -- the game is over
  local move = choose(words_of(text))
  local colour = {...}
  colour[#colour + 1] = move
  done, text = ask("ggp-play", table.unpack(colour)) -- our own move is not sent to us
  return done, done and move or text
end

-- Each command gets its arguments and gives whether it succeeded, and the text of the answer.
local commands
commands = {
  name = function() return true, "Legal bot in Lua" end,
  version = function() return true, "1" end,
  protocol_version = function() return true, "2" end,
  list_commands = function() return true, (names:gsub(" ", "\n")) end,
  known_command = function(name) return true, tostring(commands[name or ""] ~= nil) end,
  quit = function() return true, "" end,
  genmove = genmove,
  ["ggp-games"] = function() return ask("ggp-games") end,
  ["ggp-new"] = function(...)
    local done, text = ask("ggp-new", ...)
    return done, done and "" or text
  end,
  play = function(...)
    local done, text = ask("ggp-play", ...)
    return done, done and "" or text
  end,
}

local function is_id(word)
  return #word <= 10 and word:find("^%d+$") and tonumber(word) < 2 ^ 31
end

math.randomseed(os.time())
start(#arg > 0 and arg or {"ggp", "engine"})
io.stdout:setvbuf("full") -- an answer is written in one piece, when it is flushed
for line in io.lines(nil, "L") do
  if line:sub(-1) ~= "\n" then break end -- the input ended within a line
  local id, name, done, text = "", nil, false, "line too long"
  if #line <= 65537 then
    local words = words_of((line:gsub("\t", " "):gsub("%c", ""):gsub("#.*", "")))
    if #words > 1 and is_id(words[1]) then id = table.remove(words, 1) end
    name = table.remove(words, 1)
    if name and commands[name] then
      done, text = commands[name](table.unpack(words))
    else
      text = "unknown command"
    end
  end
  if name or text == "line too long" then
    io.write(done and "=" or "?", id, text == "" and "" or " ", text, "\n\n")
    io.flush()
  end
  if name == "quit" then break end
end
to:close()
