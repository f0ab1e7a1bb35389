-- Insert-or-replace of 1 KiB entities, keys at random: each write moves an entity to another group, and gives it another
-- size. With `rate`, each thread sends so many a second, evenly, however long the answers take.
dofile("common.lua")

local ffi = require("ffi")
ffi.cdef("typedef struct { long seconds, nanoseconds; } moment; int clock_gettime(int clock, moment *now);")
local MONOTONIC = 1

local count, groups
local heads, middles, tails = {}, {}, {}

local function values() return string.format('"Group":"g%04d","Size":%d', math.random(groups) - 1, math.random(1000, 9999)) end

local function now_ms()
  local now = ffi.new("moment")
  ffi.C.clock_gettime(MONOTONIC, now)
  return tonumber(now.seconds) * 1e3 + tonumber(now.nanoseconds) / 1e6
end

-- Each request has its moment; one whose moment has passed is sent at once.
function keep_to_rate(apart_ms)
  local next_ms
  function delay()
    local now = now_ms()
    next_ms = (next_ms or now) + apart_ms
    return math.max(0, next_ms - now)
  end
end

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
  if settings.rate then keep_to_rate(1000 / settings.rate) end
end

function request()
  local i = math.random(#heads)
  return heads[i] .. entity_path(math.random(count) - 1) .. middles[i] .. values() .. tails[i]
end
