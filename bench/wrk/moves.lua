-- Insert-or-replace of 1 KiB entities, keys at random: each write moves an entity to another group, and gives it another
-- size. With `pause`, clients wait between an answer and the next request: as many milliseconds on average, none in step.
dofile("common.lua")

local count, groups
local heads, middles, tails = {}, {}, {}

local function values() return string.format('"Group":"g%04d","Size":%d', math.random(groups) - 1, math.random(1000, 9999)) end

function prepare()
  count, groups = tonumber(settings.entities), tonumber(settings.groups)
  json_headers["x-ms-version"] = settings.version
  local place = ("#"):rep(#values())  -- as long as the values that come there: the Content-Length stays true
  for i = 1, 16 do
    local body = string.format('{%s,"Data":"%s"}', place, random_text(1024 - #place - 12))
    local rest
    heads[i], rest = around("KEY", wrk.format("PUT", "KEY", json_headers, body))
    middles[i], tails[i] = around(place, rest)
  end
  if settings.pause then
    local longest = 2 * tonumber(settings.pause)
    function delay() return math.random(0, longest) end
  end
end

function request()
  local i = math.random(#heads)
  return heads[i] .. entity_path(math.random(count) - 1) .. middles[i] .. values() .. tails[i]
end
