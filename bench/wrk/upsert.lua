-- Insert-or-replace of a 1 KiB entity: PUT without If-Match, keys at random.
dofile("common.lua")

local count, body, headers

function prepare()
  count = tonumber(settings.entities)
  body = '{"Data":"' .. string.rep("u", 1024 - 11) .. '"}'
  headers = { ["Content-Type"] = "application/json", ["Accept"] = "application/json;odata=nometadata",
              ["x-ms-version"] = settings.version }
end

function request() return wrk.format("PUT", entity_path(math.random(count) - 1), headers, body) end
