"""The price of peace: how much welfare a toy board allows if nobody may gain by deviating."""
