-- Lookups of one value of an index, at random; each finds 100 entities.
dofile("common.lua")

local requests = {}
least_answer = 100 * 20

function prepare()
  local headers = { ["Authorization"] = "Bearer " .. settings.token }
  for i = 1, tonumber(settings.groups) do
    requests[i] = wrk.format("GET", string.format("%s?%s=g%04d&select=%s", settings.path, settings.parameter, i - 1, settings.select), headers)
  end
end

function request() return requests[math.random(#requests)] end
