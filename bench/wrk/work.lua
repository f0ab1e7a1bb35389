-- Workers of a kind of one's own: each request claims up to `count` jobs, or ends those of an earlier claim, whichever
-- connection had that.
dofile("common.lua")

ended = 0
local claim
local claimed, first, last = {}, 1, 0
local headers

function prepare()
  headers = { ["Content-Type"] = "application/json", ["Authorization"] = "Bearer " .. settings.token }
  claim = wrk.format("POST", "/v1/work/claim", headers, string.format(
    '{"worker":"w%d","kinds":["%s"],"count":%s,"wait":1}', thread_number, settings.kind, settings.count))
end

function request()
  if first > last then return claim end
  local body = claimed[first]
  claimed[first] = nil
  first = first + 1
  return wrk.format("POST", "/v1/work/end", headers, body)
end

function response(status, _, body)
  if status ~= 200 then unexpected = unexpected + 1 end
  local _, succeeded = body:gsub('"state":"succeeded"', "")
  ended = ended + succeeded
  local ends = {}
  for epoch, id in body:gmatch('"epoch":(%d+).-"id":("[^"]+")') do
    table.insert(ends, string.format('{"id":%s,"epoch":%s,"result":{}}', id, epoch))
  end
  if #ends == 0 then return end
  last = last + 1
  claimed[last] = string.format('{"worker":"w%d","jobs":[%s]}', thread_number, table.concat(ends, ","))
end

function units() return sum("ended") end
