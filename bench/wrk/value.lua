-- Queries of the table itself for one value of a property, at random; each finds 100 entities.
dofile("common.lua")

local requests = {}
least_answer = 100 * 1024

function prepare()
  local headers = { ["Accept"] = "application/json;odata=nometadata", ["x-ms-version"] = settings.version }
  for i = 1, tonumber(settings.groups) do
    local filter = string.format("Group%%20eq%%20'g%04d'", i - 1)
    requests[i] = wrk.format("GET", settings.path .. "()?$filter=" .. filter .. "&" .. settings.sas, headers)
  end
end

function request() return requests[math.random(#requests)] end
