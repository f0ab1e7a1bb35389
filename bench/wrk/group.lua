-- Entity group transactions: 100 entities of 1 KiB, inserted or replaced, all in one partition. Each thread goes round its
-- own 20 groups, so that wrk need not build 130 KB of text for each request.
dofile("common.lua")

local requests, at = {}, 0

local function group(first, bodies)
  local parts = { "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n" }
  for number = first, first + 99 do
    local partition, row = entity_keys(number)
    table.insert(parts, string.format("--changeset_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" ..
      "PUT http://127.0.0.1:%s%s(PartitionKey='%s',RowKey='%s') HTTP/1.1\r\nContent-Type: application/json\r\n" ..
      "Accept: application/json;odata=minimalmetadata\r\n\r\n%s\r\n",
      settings.port, settings.path, partition, row, bodies[number % #bodies + 1]))
  end
  table.insert(parts, "--changeset_1--\r\n--batch_1--\r\n")
  return table.concat(parts)
end

function prepare()
  local headers = { ["Content-Type"] = "multipart/mixed; boundary=batch_1", ["Accept"] = "application/json",
                    ["DataServiceVersion"] = "3.0", ["x-ms-version"] = settings.version }
  local bodies = entity_bodies()
  local account = settings.path:match("^/[^/]+")
  for i = 1, 20 do
    local first = ((thread_number - 1) * 20 + i - 1) * 100
    requests[i] = wrk.format("POST", account .. "/$batch?" .. settings.sas, headers, group(first, bodies))
  end
end

function request()
  at = at % #requests + 1
  return requests[at]
end

-- A failed operation answers within a 202: one part with its error instead of a hundred.
function response(status, _, body)
  local function has(text) return body:find(text, 1, true) end
  if status ~= 202 or not has("HTTP/1.1 204") or has("HTTP/1.1 4") or has("HTTP/1.1 5") then unexpected = unexpected + 1 end
end

function units(summary) return summary.requests * 100 end
