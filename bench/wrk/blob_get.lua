-- Get Blob of one of the blobs that exist, at random.
dofile("common.lua")

local count
local requests = {}

function prepare()
  count = tonumber(settings.blobs)
  least_answer = tonumber(settings.size)
  for i = 1, count do requests[i] = wrk.format("GET", blob_path(i - 1), { ["x-ms-version"] = settings.version }) end
end

function request() return requests[math.random(count)] end
