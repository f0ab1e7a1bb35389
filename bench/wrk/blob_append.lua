-- Append Block to one of the append blobs that exist, at random.
dofile("common.lua")

local count
local bodies = {}
local headers = { ["Content-Type"] = "application/octet-stream" }

function prepare()
  count = tonumber(settings.blobs)
  headers["x-ms-version"] = settings.version
  for i = 1, 16 do bodies[i] = random_text(tonumber(settings.size)) end
end

function request()
  return wrk.format("PUT", blob_path(math.random(count) - 1) .. "&comp=appendblock", headers, bodies[math.random(#bodies)])
end
