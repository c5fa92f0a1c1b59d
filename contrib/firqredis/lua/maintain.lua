-- Brings in what is due. Reply: how many.
--DUE--
if some > 0 then freed = true end
finish()
return some
