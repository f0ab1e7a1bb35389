-- Puts of messages of 400 bytes.
dofile("common.lua")

local requests = {}

function prepare()
  local headers = { ["Content-Type"] = "application/xml", ["Accept"] = "application/xml", ["x-ms-version"] = settings.version }
  for i = 1, 16 do
    requests[i] = wrk.format("POST", settings.path .. "/messages?" .. settings.sas, headers,
      "<QueueMessage><MessageText>" .. random_text(400) .. "</MessageText></QueueMessage>")
  end
end

function request() return requests[math.random(#requests)] end
