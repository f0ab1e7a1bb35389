-- Put Blob over names that exist, at random.
dofile("common.lua")

local count
local bodies = {}
local headers = { ["x-ms-blob-type"] = "BlockBlob", ["Content-Type"] = "application/octet-stream" }

function prepare()
  count = tonumber(settings.blobs)
  headers["x-ms-version"] = settings.version
  for i = 1, 16 do bodies[i] = random_text(tonumber(settings.size)) end
end

function request()
  return wrk.format("PUT", blob_path(math.random(count) - 1), headers, bodies[math.random(#bodies)])
end
