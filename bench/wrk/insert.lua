-- Insert of a 1 KiB entity under a key that was never used: POST to the table, 64 partitions.
dofile("common.lua")

local number = 0
local heads, tails = {}, {}

local function keys()
  return string.format('"PartitionKey":"p%02d","RowKey":"s%04d-%02d-%09d"', number % 64, settings.seed, thread_number, number)
end

function prepare()
  json_headers["x-ms-version"] = settings.version
  json_headers["Prefer"] = "return-no-content"
  local place = ("#"):rep(#keys())  -- as long as the keys that come there: the Content-Length stays true
  for i = 1, 16 do
    local body = string.format('{%s,"Data":"%s"}', place, random_text(1024 - 11))
    heads[i], tails[i] = around(place, wrk.format("POST", settings.path .. "?" .. settings.sas, json_headers, body))
  end
end

function request()
  number = number + 1
  local body = number % #heads + 1
  return heads[body] .. keys() .. tails[body]
end
