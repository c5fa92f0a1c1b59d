-- Puts those tenants into the fair order that may be there by now, after the limit of them all has been raised. Own ARGV: tenants.
local names = {unpack(ARGV, 7)}
for k, tag in ipairs(call('ZMSCORE', R, unpack(names))) do
  if not tag then place(tenant(names[k])) end
end
finish()
return 1
