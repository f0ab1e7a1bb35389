-- Queries of 100 consecutive entities of one partition, from anywhere in it.
dofile("common.lua")

local requests = {}
least_answer = 100 * 1024

function prepare()
  local headers = { ["Accept"] = "application/json;odata=nometadata", ["x-ms-version"] = settings.version }
  local per_partition, count = tonumber(settings.perpartition), tonumber(settings.entities)
  for i = 1, 1000 do
    local first = math.random(count / per_partition) * per_partition - math.random(100, per_partition)
    local partition, from = entity_keys(first)
    local _, to = entity_keys(first + 100)
    local filter = string.format("PartitionKey%%20eq%%20'%s'%%20and%%20RowKey%%20ge%%20'%s'%%20and%%20RowKey%%20lt%%20'%s'",
      partition, from, to)
    requests[i] = wrk.format("GET", settings.path .. "()?$filter=" .. filter .. "&" .. settings.sas, headers)
  end
end

function request() return requests[math.random(#requests)] end
