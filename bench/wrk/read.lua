-- Point reads: GET of one of the preloaded 1 KiB entities, at random.
dofile("common.lua")

local count
local requests = {}

function prepare()
  count = tonumber(settings.entities)
  local headers = { ["Accept"] = "application/json;odata=nometadata", ["x-ms-version"] = settings.version }
  for i = 1, count do requests[i] = wrk.format("GET", entity_path(i - 1), headers) end
end

function request() return requests[math.random(count)] end
