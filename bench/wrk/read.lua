-- Point reads: GET of one of the preloaded 1 KiB entities, at random.
dofile("common.lua")

local count
local requests = {}
least_answer = 1024

function prepare()
  count = tonumber(settings.entities)
  local headers = { ["Accept"] = "application/json;odata=nometadata", ["x-ms-version"] = settings.version }
  local spread = tonumber(settings.spread or 1)  -- every n-th of a larger table
  for i = 1, count do requests[i] = wrk.format("GET", entity_path((i - 1) * spread), headers) end
end

function request() return requests[math.random(count)] end
