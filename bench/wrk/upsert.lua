-- Insert-or-replace of a 1 KiB entity: PUT without If-Match, keys at random.
dofile("common.lua")

local count
local heads, tails = {}, {}

function prepare()
  count = tonumber(settings.entities)
  json_headers["x-ms-version"] = settings.version
  for i, body in ipairs(entity_bodies()) do heads[i], tails[i] = around("KEY", wrk.format("PUT", "KEY", json_headers, body)) end
end

function request()
  local body = math.random(#heads)
  return heads[body] .. entity_path(math.random(count) - 1) .. tails[body]
end
